"""The machine-readable contract: what FastAPI cannot see because bodies and problems are made by hand."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from api.audio_schemas import OpenAiErrorDocument
from api.batch_schemas import BatchOrder, BatchResult
from api.control_schemas import AssembleRequest, JobChange, RetryRequest
from api.key_schemas import KeyOrder
from api.problems import MEDIA_TYPE, OPENAI_PREFIX
from api.pronunciation_schemas import DictionaryOrder, VersionOrder
from api.schemas import Event, JobRequest, ProblemDocument
from api.segment_schemas import SegmentChange, TakeOrder
from api.upload_schemas import UploadOrder
from api.voice_cache_schemas import BulkCacheOrder, CacheOrder
from api.voice_schemas import BlendOrder, PreviewOrder, RecordingForm, VoiceChange, VoiceForm
from api.webhook_payload_schemas import WebhookPayload
from api.webhook_schemas import EndpointChange, EndpointOrder, RotateOrder

_BODIES = (
    *(JobRequest, VoiceForm, RecordingForm, VoiceChange, PreviewOrder, BlendOrder),
    *(CacheOrder, BulkCacheOrder),
    *(DictionaryOrder, VersionOrder),
    *(EndpointOrder, EndpointChange, RotateOrder),
    *(KeyOrder, UploadOrder, BatchOrder),
    *(RetryRequest, AssembleRequest, JobChange, SegmentChange, TakeOrder),
)

_ANSWERS = (BatchResult, Event, WebhookPayload, ProblemDocument, OpenAiErrorDocument)

_REF = "#/components/schemas/{model}"

_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "a repeat under this key within 24 hours is answered as the first time, and nothing is done twice",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}

_SECURITY = {"type": "http", "scheme": "bearer", "description": "an API key; none on a server that has none"}

_OPEN_PATHS = ("/livez", "/readyz", "/v1/objects/")


def complete_openapi(app: FastAPI) -> None:
    """Makes `/openapi.json` name the job request, the events and the problems."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _described(app)
        return app.openapi_schema

    app.openapi = openapi


def _described(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    schemas: dict[str, Any] = document["components"]["schemas"]
    _, bodies = models_json_schema([(body, "validation") for body in _BODIES], ref_template=_REF)
    _, answers = models_json_schema([(answer, "serialization") for answer in _ANSWERS], ref_template=_REF)
    schemas |= bodies["$defs"] | answers["$defs"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    problem = {
        "description": "A problem document (RFC 9457)",
        "content": {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="ProblemDocument")}}},
    }
    openai_error = {
        "description": "An error as OpenAI's API has it",
        "content": {"application/json": {"schema": {"$ref": _REF.format(model="OpenAiErrorDocument")}}},
    }
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = openai_error if path.startswith(OPENAI_PREFIX) else problem
            if method == "post":
                _take_idempotency_key(operation)
            if path.startswith(_OPEN_PATHS):
                operation["security"] = []
    document["components"]["securitySchemes"] = {"apiKey": _SECURITY}
    document["security"] = [{"apiKey": []}, {}]
    return document


def _take_idempotency_key(operation: dict[str, Any]) -> None:
    """One description for routes that take the header and for those that are wrapped."""
    parameters = operation.setdefault("parameters", [])
    parameters[:] = [each for each in parameters if each["name"] != _IDEMPOTENCY_KEY["name"]] + [_IDEMPOTENCY_KEY]
