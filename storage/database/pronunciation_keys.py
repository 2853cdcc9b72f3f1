"""Every Redis key of pronunciation dictionaries; `database.keys` has the root of all."""

from __future__ import annotations

from storage.database.keys import RedisKeys
from storage.ids import DictionaryId, TenantId

SUBROOT = ":pd"

FAMILIES = {
    "dictionary": "hash: the dictionary's record, v<n> for each version",
    "dictionaries": "sorted set per tenant: every dictionary's id, in order of the ids",
}


class PronunciationKeys:
    def __init__(self, prefix: str) -> None:
        self.root = f"{RedisKeys(prefix).root}{SUBROOT}"

    def dictionary(self, dictionary: DictionaryId) -> str:
        return f"{self.root}:dictionary:{dictionary}"

    def dictionaries(self, tenant: TenantId) -> str:
        return f"{self.root}:dictionaries:{tenant}"
