"""Which refusals each operation can answer with: most follow from what it takes, the rest stands here.

A test compares every answer of the API's tests with it, so an entry that is missing is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from api.http.bodies import refer
from api.http.problems.codes import BY_CODE, ProblemCode
from api.http.problems.problem import MEDIA_TYPE, OPENAI_PREFIX
from rhapsode.contract.openai_voices import OpenAiErrorDocument
from rhapsode.contract.problems import ProblemDocument

OPEN_PATHS = ("/livez", "/readyz", "/health", "/v1/objects/")
"""Asked for without a key; the objects by a signed link."""

Refusals = set[tuple[int, str]]

_VOICE = ((404, "voice_not_found"), (409, "voice_cache_not_ready"), (409, "voice_cache_stale"))
_MODEL = ((404, "model_not_available"), (503, "model_not_available"))
_LANGUAGE = ((422, "unsupported_language"),)
_ADMISSION = ((429, "quota_exceeded"), (503, "backlog_full"))
_STATE = ((409, "state_conflict"),)
_DAMAGED = ((409, "segment_damaged"),)
_GONE = ((410, "gone"),)
_RECORDING = ((409, "name_taken"), (422, "unsupported_media"), (503, "decoder_unavailable"))
_SECRETS = ((503, "webhooks_unavailable"),)
_REFERENCE = ((503, "decoder_unavailable"),)
_SUBMISSION = (
    *_REFERENCE,
    *(*_VOICE, *_MODEL, *_LANGUAGE, *_ADMISSION, *_SECRETS, *_STATE),
    *((404, "not_found"), (409, "deadline_unreachable"), (410, "gone"), (422, "text_too_long")),
    *((413, "payload_too_large"), (422, "unsupported_media"), (422, "input_too_complex")),
    (422, "document_without_text"),
)

_SPEECH = (
    *((422, "segment_quality"), (500, "worker_lost"), (500, "voice_cache_failed"), (500, "voice_cache_corrupt")),
    *((504, "deadline_exceeded"), *_DAMAGED),
)

_LIVE = ((400, "invalid_request"), (429, "live_full"), (503, "server_stopping"), (503, "server_busy"))

OF_OPERATIONS: Mapping[str, Iterable[tuple[int, str]]] = {
    "submit_job": _SUBMISSION,
    "put_job": _SUBMISSION,
    "post_batch": _SUBMISSION,
    "speak": (*_SUBMISSION, *_SPEECH, *_LIVE),
    "speak_batch": _SUBMISSION,
    "get_audio_voice": ((404, "voice_not_found"),),
    "open_speech_socket": (*_MODEL, (426, "upgrade_required"), (503, "too_many_connections")),
    "post_preview": (*_SUBMISSION, *_GONE),
    "list_jobs": ((404, "not_found"),),
    "cancel_job": _STATE,
    "cancel_batch": _STATE,
    "delete_job": _STATE,
    "delete_batch": _STATE,
    "pause_job": _STATE,
    "resume_job": (*_STATE, *_ADMISSION),
    "change_job": _STATE,
    "retry_job": (*_STATE, *_ADMISSION),
    "assemble_job": (*_STATE, *_ADMISSION),
    "hear_job": (*_STATE, (406, "invalid_request")),
    "follow_job": ((400, "invalid_request"),),
    "list_segments": _STATE,
    "get_segment": (*_STATE, *_DAMAGED),
    "get_segment_audio": (*_STATE, *_DAMAGED),
    "edit_segment": (*_STATE, *_ADMISSION, *_LANGUAGE, *_MODEL, (404, "voice_not_found"), (422, "text_too_long")),
    "edit_segments": (*_STATE, *_ADMISSION, *_MODEL, (404, "voice_not_found")),
    "edit_sentence": (*_STATE, *_ADMISSION, *_LANGUAGE, *_MODEL, (422, "text_too_long")),
    "regenerate_segment": (*_STATE, *_ADMISSION, *_MODEL),
    "list_takes": _STATE,
    "get_waveform": _STATE,
    "select_attempt": (*_STATE, *_DAMAGED),
    "select_take": (*_STATE, *_ADMISSION),
    "post_voice": (*_RECORDING, *_ADMISSION, *_MODEL),
    "put_sample": (*_RECORDING, *_ADMISSION, *_STATE),
    "post_audio_voice": (*_RECORDING, *_ADMISSION, *_MODEL),
    "delete_audio_voice": ((404, "voice_not_found"),),
    "patch_voice": ((409, "name_taken"), *_STATE),
    "delete_voice": _STATE,
    "blend": (*_VOICE, *_MODEL, (409, "name_taken"), *_ADMISSION, *_GONE, *_STATE),
    "get_embedding": (*_VOICE, *_MODEL),
    "get_sample": ((404, "not_found"),),
    "order_voice_cache": (*_MODEL, *_ADMISSION, *_STATE),
    "order_voice_caches": (*_VOICE, *_MODEL, *_ADMISSION, *_SECRETS, (404, "not_found"), (409, "deadline_unreachable")),
    "list_voice_caches": _MODEL,
    "cache_audio_voice": ((404, "voice_not_found"), *_MODEL, *_ADMISSION),
    "post_endpoint": (*_SECRETS, *_ADMISSION),
    "patch_endpoint": (*_SECRETS, *_STATE),
    "rotate_secret": _SECRETS,
    "get_secret": _SECRETS,
    "rotate_tenant_secret": _SECRETS,
    "test_endpoint": (*_SECRETS, *_STATE),
    "redeliver": (*_STATE, (404, "not_found")),
    "redeliver_to_endpoint": _STATE,
    "post_upload": _ADMISSION,
    "post_dictionary": _ADMISSION,
    "post_version": (*_ADMISSION, *_STATE),
    "reconcile": _STATE,
    "get_object": ((403, "forbidden"), (404, "not_found"), (416, "range_not_satisfiable")),
    "put_object": ((403, "forbidden"), (409, "state_conflict")),
}
"""What does not follow from an operation's path, method and body, by its operationId."""

_FORGETTING = ("/v1/jobs/{", "/v1/batches/{", "/v1/voices/{", "/v1/webhook-endpoints/{")
"""Paths where a deleted resource answers 410 for a while."""


def refusals(path: str, method: str, operation: Mapping[str, Any]) -> Refusals:
    """Status and code of every refusal of an operation."""
    parameters: list[Mapping[str, Any]] = operation.get("parameters", [])
    places = {each["in"] for each in parameters}
    found: Refusals = {(500, "internal"), (400, "invalid_request"), (413, "payload_too_large")}
    if path not in OPEN_PATHS:
        found |= {(503, "storage_unavailable")}
    if not path.startswith(OPEN_PATHS):
        found |= {(401, "unauthorized"), (403, "forbidden"), (429, "rate_limited"), (503, "identity_unavailable")}
    if "{" in path:
        found |= {(404, "voice_not_found" if "voice_id" in path else "not_found")}
    if path.startswith(_FORGETTING):
        found |= set(_GONE)
    if "requestBody" in operation:
        found |= {(415, "unsupported_media"), (422, "invalid_request")}
    if "query" in places or any(each["schema"].get("type") == "integer" for each in parameters if each["in"] == "path"):
        found |= {(422, "invalid_request")}
    if method == "post":
        found |= {(409, "idempotency_in_progress"), (422, "idempotency_mismatch")}
    return found | set(OF_OPERATIONS.get(operation["operationId"], ()))


def add_refusals(document: dict[str, Any]) -> None:
    """Document every refusal of every operation; equal ones are one component."""
    components: dict[str, Any] = document["components"].setdefault("responses", {})
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            operation["responses"].pop("422", None)
            shape = _OPENAI if path.startswith(OPENAI_PREFIX) else _PROBLEM
            found = refusals(path, method, operation)
            for status in sorted({status for status, _ in found}):
                codes = sorted(code for at, code in found if at == status)
                name = f"{shape.name}{status}.{'.'.join(codes)}"
                components.setdefault(name, shape.response(status, codes))
                _document(operation["responses"], status, {"$ref": f"#/components/responses/{name}"}, components[name])


def _document(responses: dict[str, Any], status: int, reference: dict[str, Any], response: dict[str, Any]) -> None:
    """An answer of this status that is no refusal, as a probe's 503, keeps its own content beside it."""
    own = responses.get(str(status))
    responses[str(status)] = reference if own is None else own | {"content": own["content"] | response["content"]}


class _Shape:
    """How a refusal is written: as a problem document, or as OpenAI's API has it."""

    def __init__(self, name: str, media_type: str, model: type[BaseModel], path_of_code: tuple[str, ...]) -> None:
        self.name = name
        self._media_type = media_type
        self._schema = refer(model)
        self._path_of_code = path_of_code

    def response(self, status: int, codes: list[str]) -> dict[str, Any]:
        narrowed: dict[str, Any] = {"enum": codes}
        for name in reversed(self._path_of_code):
            narrowed = {"type": "object", "properties": {name: narrowed}}
        response: dict[str, Any] = {
            "description": "\n".join(_told(BY_CODE[code]) for code in codes),
            "content": {self._media_type: {"schema": {"allOf": [self._schema, narrowed]}}},
        }
        if status in (429, 503):
            response["headers"] = {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}}
        return response


def _told(code: ProblemCode) -> str:
    return f"- `{code.code}`: {code.meaning}; {code.remedy}"


_PROBLEM = _Shape("Problem", MEDIA_TYPE, ProblemDocument, ("code",))
_OPENAI = _Shape("OpenAiError", "application/json", OpenAiErrorDocument, ("error", "code"))
