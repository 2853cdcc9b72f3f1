"""Answers that the framework does not see because routes make them by hand, and the fields of answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from api.http.bodies import refer
from rhapsode.contract.jobs.answer import Job
from rhapsode.contract.openai_voices import AudioVoiceCached
from rhapsode.contract.plans import PlanDocument
from rhapsode.contract.voices.caches import VoiceCacheList
from rhapsode.contract.voices.voices import Voice, VoiceEmbedding

_WAV = {"audio/wav": {"schema": {"type": "string", "contentMediaType": "audio/wav"}}}
_EMBEDDING = {
    "application/octet-stream": {"schema": {"type": "string", "contentMediaType": "application/octet-stream"}},
    "application/json": {"schema": refer(VoiceEmbedding)},
}


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": refer(model)}}


_JOB_OR_PLAN = {"application/json": {"schema": {"anyOf": [refer(Job), refer(PlanDocument)]}}}


def _text(description: str) -> dict[str, Any]:
    return {"schema": {"type": "string"}, "description": description}


FIELDS: dict[str, Any] = {
    "RequestId": _text("Of this request: yours from `X-Request-ID`, or a new one. Every line of the log has it."),
    "RateLimitPolicy": _text("What is allowed: requests (`q`) in so many seconds (`w`). Absent without a key."),
    "RateLimit": _text("What is left (`r`) for so many seconds (`t`). Absent without a key."),
    "RetryAfter": {"schema": {"type": "integer", "minimum": 1}, "description": "Seconds after which to ask again."},
    "Location": _text("The address of what was made, or of the bytes."),
    "ETag": _text("Changes with every change that the answer shows; send it as `If-None-Match`."),
    "PreferenceApplied": _text("What of `Prefer` was heeded, as `wait=30`."),
    "IdempotencyReplayed": _text("`true`: this is the answer that was given under the key the first time."),
}

_IN_EVERY_ANSWER = {"X-Request-ID": "RequestId"}
_IN_EVERY_GUARDED_ANSWER = {"RateLimit-Policy": "RateLimitPolicy", "RateLimit": "RateLimit"}

MORE: Mapping[str, Mapping[str, Any]] = {
    "submit_job": {
        "200": {
            "description": "With `Prefer: wait`: the job at its end. With `validate_only`: the plan",
            "content": _JOB_OR_PLAN,
        }
    },
    "put_job": {
        "200": {
            "description": "Created before by this very body; or, with `validate_only`, the plan",
            "content": _JOB_OR_PLAN,
        }
    },
    "cancel_job": {"202": {"description": "Workers are still being notified", "content": _json(Job)}},
    "get_job": {"304": {"description": "Unchanged since `If-None-Match`"}},
    "speak": {"202": {"description": "With `Prefer: respond-async`: the job", "content": _json(Job)}},
    "post_voice": {"202": {"description": "The voice, which is being prepared, too", "content": _json(Voice)}},
    "order_voice_cache": {"200": {"description": "All are ready", "content": _json(VoiceCacheList)}},
    "cache_audio_voice": {"200": {"description": "All are ready", "content": _json(AudioVoiceCached)}},
    "get_embedding": {"200": {"description": "The embedding", "content": _EMBEDDING}},
    "get_segment_audio": {"200": {"description": "The segment", "content": _WAV}},
}
"""By operationId: further answers that are no refusals."""

_FIELDS_OF_STATUS = {
    "201": {"Location": "Location"},
    "202": {"Location": "Location", "Retry-After": "RetryAfter"},
    "302": {"Location": "Location"},
}


def add_answers(document: dict[str, Any]) -> None:
    """Every answer that is no refusal, with the fields that it may have."""
    document["components"]["headers"] = FIELDS
    for operations in document["paths"].values():
        for method, operation in operations.items():
            for status, answer in MORE.get(operation["operationId"], {}).items():
                operation["responses"][status] = operation["responses"].get(status, {}) | answer
            for status, response in operation["responses"].items():
                if status < "400":
                    _add_fields(response, _fields(method, status, operation))


def _fields(method: str, status: str, operation: Mapping[str, Any]) -> dict[str, str]:
    fields = _IN_EVERY_ANSWER | _FIELDS_OF_STATUS.get(status, {})
    if operation.get("security") != []:
        fields |= _IN_EVERY_GUARDED_ANSWER
    if method == "post":
        fields |= {"Idempotency-Replayed": "IdempotencyReplayed"}
    if any(each["name"].lower() == "prefer" for each in operation.get("parameters", ())):
        fields |= {"Preference-Applied": "PreferenceApplied"}
    if operation["operationId"] == "get_job":
        fields |= {"ETag": "ETag", "Retry-After": "RetryAfter"}
    return fields


def _add_fields(response: dict[str, Any], fields: Mapping[str, str]) -> None:
    known = {name: {"$ref": f"#/components/headers/{field}"} for name, field in fields.items()}
    response["headers"] = known | response.get("headers", {})
