"""Bodies of requests in the OpenAPI description, for routes that read them as bytes."""

from __future__ import annotations


def json_body(schema: str, *, required: bool = True) -> dict[str, object]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"requestBody": {"required": required, "content": content}}
