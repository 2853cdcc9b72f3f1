"""The pronunciation dictionaries that a job names: found, and copied so that the job keeps what it took."""

from __future__ import annotations

from dataclasses import dataclass

from api.http.problems.problem import HttpProblem, invalid_field
from storage.errors import ArtifactMissing, DictionaryNotFound
from storage.ids import DICTIONARY_ID, DictionaryId, JobId, TenantId
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.pronunciations.dictionaries import DictionaryVersion, parse_reference
from storage.pronunciations.store import PronunciationStore


@dataclass(frozen=True, slots=True)
class TakenDictionary:
    """key: where its rules lie; they never change, but may be deleted."""

    version: DictionaryVersion
    key: str


def find_dictionary(
    pronunciations: PronunciationStore, tenant: TenantId, reference: str, index: int
) -> TakenDictionary:
    """index: its place in the request. Raises a `HttpProblem` or a `StorageError`."""
    wanted = parse_reference(reference)
    dictionary = wanted.dictionary if wanted else DictionaryId(reference)
    if wanted is None and not DICTIONARY_ID.fullmatch(reference):
        detail = "must be pd_… for the newest version, or pd_…@3 for one version"
        raise invalid_field(f"/pronunciation_dictionaries/{index}", "wrong_type", detail)
    try:
        record = pronunciations.get(tenant, dictionary)
    except DictionaryNotFound as error:
        raise _unknown(index, reference) from error
    version = record.version(wanted.version if wanted else len(record.versions))
    if version is None:
        raise _unknown(index, reference)
    key = keys.pronunciations(tenant, dictionary, version.upload)
    return TakenDictionary(DictionaryVersion(dictionary, version.version), key)


def copy_dictionary(artifacts: ArtifactStore, tenant: TenantId, job: JobId, index: int, taken: TakenDictionary) -> None:
    """Give the job its own. Raises a `HttpProblem` or a `StorageError`."""
    try:
        rules = artifacts.get(taken.key)
    except ArtifactMissing as error:
        raise _unknown(index, str(taken.version)) from error
    artifacts.put(keys.job_dictionary(tenant, job, index), rules)


def _unknown(index: int, reference: str) -> HttpProblem:
    detail = f"there is no pronunciation dictionary {reference[:64]!r}"
    return invalid_field(f"/pronunciation_dictionaries/{index}", "not_found", detail)
