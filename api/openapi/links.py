"""Which operation goes on with what another has made: OpenAPI links, for people, generators and tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_ID = "$response.body#/id"
_FIRST_ID = "$response.body#/data/0/id"
_FIRST_NAME = "$response.body#/data/0/name"


@dataclass(frozen=True, slots=True)
class Way:
    """From an operation's answer to others. parameters: of all of these, by where each comes from."""

    operation: str
    status: str
    parameters: Mapping[str, str]
    targets: Iterable[str]


_JOB = (
    *("get_job", "cancel_job", "pause_job", "resume_job", "change_job", "retry_job", "assemble_job", "delete_job"),
    *("hear_job", "follow_job", "list_segments", "get_waveform", "list_artifacts", "list_job_deliveries"),
)
_VOICE = (
    *("get_voice", "patch_voice", "get_sample", "put_sample", "get_embedding", "post_preview", "delete_voice"),
    *("order_voice_cache", "get_voice_cache", "delete_voice_cache"),
)
_SEGMENT = ("get_segment", "edit_segment", "regenerate_segment", "list_takes", "get_segment_audio")
_ENDPOINT = (
    *("get_endpoint", "patch_endpoint", "disable_endpoint", "enable_endpoint", "rotate_secret", "test_endpoint"),
    *("list_deliveries", "delete_endpoint"),
)
_OF_THE_SAME_JOB = {"job_id": "$request.path.job_id"}

WAYS = (
    Way("submit_job", "202", {"job_id": _ID}, _JOB),
    Way("put_job", "202", {"job_id": _ID}, ("get_job", "cancel_job", "delete_job")),
    Way("retry_job", "202", {"job_id": _ID}, ("get_job",)),
    Way("post_preview", "202", {"job_id": _ID}, ("get_job",)),
    Way("list_segments", "200", {**_OF_THE_SAME_JOB, "segment": _FIRST_ID}, _SEGMENT),
    Way(
        "get_segment",
        "200",
        {**_OF_THE_SAME_JOB, "sentence": "$response.body#/sentences/0/id"},
        ("edit_sentence",),
    ),
    Way(
        "list_takes",
        "200",
        {**_OF_THE_SAME_JOB, "segment": "$request.path.segment", "take": "$response.body#/data/0/take"},
        ("select_take",),
    ),
    Way("list_models", "200", {"model_name": _FIRST_NAME}, ("get_model",)),
    Way("list_artifacts", "200", {**_OF_THE_SAME_JOB, "name": _FIRST_NAME}, ("get_artifact", "share_artifact")),
    Way("post_batch", "202", {"batch_id": _ID}, ("get_batch", "get_results", "cancel_batch", "delete_batch")),
    Way("post_upload", "201", {"upload_id": _ID}, ("get_upload", "delete_upload")),
    Way("post_voice", "201", {"voice_id": _ID}, _VOICE),
    Way("post_audio_voice", "200", {"name": "$response.body#/voice/name"}, ("cache_audio_voice", "delete_audio_voice")),
    Way("blend", "201", {"voice_id": _ID}, ("get_voice", "delete_voice")),
    Way("post_dictionary", "201", {"dictionary_id": _ID}, ("get_dictionary", "post_version", "delete_dictionary")),
    Way(
        "post_version",
        "201",
        {"dictionary_id": "$request.path.dictionary_id", "version": "$response.body#/version"},
        ("get_version",),
    ),
    Way("post_endpoint", "201", {"endpoint_id": _ID}, _ENDPOINT),
    Way("test_endpoint", "202", {"delivery_id": _ID}, ("get_delivery", "redeliver")),
    Way(
        "test_endpoint",
        "202",
        {"endpoint_id": "$request.path.endpoint_id", "delivery_id": _ID},
        ("redeliver_to_endpoint",),
    ),
    Way("post_key", "201", {"key_id": _ID}, ("revoke_key",)),
    Way("list_workers", "200", {"name": _FIRST_NAME}, ("drain_worker", "undrain_worker")),
    Way("list_dead_letters", "200", {"entry": _FIRST_ID}, ("forget_dead_letter",)),
)


def add_links(document: dict[str, Any]) -> None:
    operations = {each["operationId"]: each for path in document["paths"].values() for each in path.values()}
    for way in WAYS:
        links = operations[way.operation]["responses"][way.status].setdefault("links", {})
        links |= {target: {"operationId": target, "parameters": dict(way.parameters)} for target in way.targets}
