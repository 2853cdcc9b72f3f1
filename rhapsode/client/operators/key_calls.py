"""Every request about API keys as a value, and its answers. For operators. No I/O: both clients send these."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rhapsode.client.calls import ApiCall, nothing, resource, shown_once
from rhapsode.client.plain_json import json_object
from rhapsode.contract.operators.keys import ApiKeyList, ApiKeyView

DEFAULT_SCOPES = ("synth", "voices", "webhooks")


class CreatedApiKey(ApiKeyView):
    """Once it is known that the answer shows its secret."""

    secret: str


def create_key(tenant: str, name: str, scopes: Sequence[str], expires_at: datetime | None) -> ApiCall[CreatedApiKey]:
    body = json_object({"tenant": tenant, "name": name, "scopes": scopes, "expires_at": expires_at})
    read = shown_once(CreatedApiKey, "revoke the key {id} and make another")
    return ApiCall("POST", "/v1/admin/api-keys", read, body=body)


def list_keys(tenant: str | None) -> ApiCall[tuple[ApiKeyView, ...]]:
    read = resource(ApiKeyList)
    params = (("tenant", tenant),) if tenant else ()
    return ApiCall("GET", "/v1/admin/api-keys", lambda response: read(response).data, params=params)


def revoke_key(key_id: str) -> ApiCall[None]:
    return ApiCall("DELETE", f"/v1/admin/api-keys/{key_id}", nothing)
