"""The pronunciation dictionaries that a job names: found, and copied so that the job keeps what it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from api.http.problems.problem import HttpProblem, invalid_field
from api.services.container import ApiServices
from storage.errors import ArtifactMissing, DictionaryNotFound
from storage.ids import DICTIONARY_ID, DictionaryId, JobId, TenantId
from storage.objects import keys
from storage.pronunciations.dictionaries import DictionaryVersion, parse_reference


@dataclass(frozen=True, slots=True)
class TakenDictionary:
    """key: where its rules lie; they never change, but may be deleted."""

    version: DictionaryVersion
    key: str


def find_dictionaries(services: ApiServices, tenant: TenantId, references: Sequence[str]) -> list[TakenDictionary]:
    """Raises a `HttpProblem` or a `StorageError`."""
    return [_find(services, tenant, reference, index) for index, reference in enumerate(references)]


def copy_dictionaries(services: ApiServices, tenant: TenantId, job: JobId, taken: Sequence[TakenDictionary]) -> None:
    """Give the job its own. Raises a `HttpProblem` or a `StorageError`."""
    for index, dictionary in enumerate(taken):
        try:
            rules = services.artifacts.get(dictionary.key)
        except ArtifactMissing as error:
            raise _unknown(index, str(dictionary.version)) from error
        services.artifacts.put(keys.job_dictionary(tenant, job, index), rules)


def _find(services: ApiServices, tenant: TenantId, reference: str, index: int) -> TakenDictionary:
    wanted = parse_reference(reference)
    dictionary = wanted.dictionary if wanted else DictionaryId(reference)
    if wanted is None and not DICTIONARY_ID.fullmatch(reference):
        detail = "must be pd_… for the newest version, or pd_…@3 for one version"
        raise invalid_field(f"/pronunciation_dictionaries/{index}", "wrong_type", detail)
    try:
        record = services.pronunciations.get(tenant, dictionary)
    except DictionaryNotFound as error:
        raise _unknown(index, reference) from error
    version = record.version(wanted.version if wanted else len(record.versions))
    if version is None:
        raise _unknown(index, reference)
    key = keys.pronunciations(tenant, dictionary, version.upload)
    return TakenDictionary(DictionaryVersion(dictionary, version.version), key)


def _unknown(index: int, reference: str) -> HttpProblem:
    detail = f"there is no pronunciation dictionary {reference[:64]!r}"
    return invalid_field(f"/pronunciation_dictionaries/{index}", "not_found", detail)
