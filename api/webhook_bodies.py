"""How the routes of webhooks tell the machine-readable contract what they take."""

from __future__ import annotations


def json_body(schema: str, *, required: bool = True) -> dict[str, object]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"requestBody": {"required": required, "content": content}}
