"""The bodies of requests and answers about API keys: the public contract."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from rhapsode.contract.base import Answer, DateTime, Id, Name, RequestBody

TENANT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
"""A tenant's name is part of object keys and Redis keys."""

ScopeName = Literal["synth", "voices", "webhooks", "admin"]


def _tenant_name(value: str) -> str:
    if not TENANT_NAME.fullmatch(value):
        raise PydanticCustomError("not_a_tenant", "must be 1 to 63 of a-z 0-9 _ -, and begin with a letter or digit")
    return value


TenantName = Annotated[str, AfterValidator(_tenant_name)]


class KeyOrder(RequestBody):
    """A new key. `name`: what it is for. Without `expires_at` it is good until it is revoked."""

    tenant: TenantName
    name: Name
    scopes: list[ScopeName] = Field(default=["synth", "voices", "webhooks"], min_length=1, max_length=4)
    expires_at: DateTime | None = None


class ApiKeyView(Answer):
    """A key without its secret; `prefix` is how it begins. `last_used_at` is right to a minute."""

    id: Id
    object: Literal["api_key"] = "api_key"
    tenant: str
    name: str
    prefix: str
    scopes: tuple[ScopeName, ...]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


class NewApiKey(ApiKeyView):
    """`secret`: the key, shown once; null in the answer to a repeat with an idempotency key."""

    secret: str | None


class ApiKeyList(Answer):
    data: tuple[ApiKeyView, ...]
