"""What a route that reads its body as bytes says of it in the OpenAPI description: `openapi_extra`."""

from __future__ import annotations

from pydantic import BaseModel

SCHEMAS = "#/components/schemas/{model}"


def json_body(model: type[BaseModel], *, required: bool = True) -> dict[str, object]:
    return body({"application/json": model}, required=required)


def form_body(model: type[BaseModel]) -> dict[str, object]:
    return body({"multipart/form-data": model})


def body(kinds: dict[str, type[BaseModel] | dict[str, object]], *, required: bool = True) -> dict[str, object]:
    """kinds: what may be sent, by media type: a model of the contract, or a schema as it is."""
    content = {kind: {"schema": sent if isinstance(sent, dict) else refer(sent)} for kind, sent in kinds.items()}
    return {"requestBody": {"required": required, "content": content}}


def refer(model: type[BaseModel]) -> dict[str, object]:
    return {"$ref": SCHEMAS.format(model=model.__name__)}
