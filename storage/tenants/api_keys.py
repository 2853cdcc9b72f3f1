"""API keys: whose they are, what they may do, until when. Only their digests are kept.

A key is 32 random bytes; guessing one is out of the question, so a plain sha256 at rest is enough. Requests look a key
up by its digest, which tells nothing through the time that it takes.
"""

from __future__ import annotations

import enum
import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import cast

import redis
from pydantic import TypeAdapter

from storage.database.hashes import read_hashes
from storage.database.keys import RedisKeys
from storage.errors import KeyNotFound
from storage.ids import KeyId, TenantId, new_key_id

KEY_PREFIX = "rh_"
SHOWN_CHARS = 10
"""Of a key, in lists: enough to tell two of one's own apart."""


class Scope(enum.StrEnum):
    """What a key may be used for."""

    SYNTH = "synth"
    """Jobs, batches, uploads, speech, and what describes them."""

    VOICES = "voices"
    """Voices and their caches."""

    WEBHOOKS = "webhooks"
    """Webhook endpoints and their deliveries."""

    ADMIN = "admin"
    """Keys, tenants' limits, workers and queues of the whole system."""


ALL_SCOPES = frozenset(Scope)
TENANT_SCOPES = ALL_SCOPES - {Scope.ADMIN}


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is kept. Times are Unix ms; `expires_at_ms` None: never. `shown`: how the key begins."""

    id: KeyId
    tenant: TenantId
    name: str
    shown: str
    scopes: frozenset[Scope]
    created_at_ms: int
    expires_at_ms: int | None = None
    last_used_at_ms: int | None = None

    def is_over(self, now_ms: int) -> bool:
        return self.expires_at_ms is not None and self.expires_at_ms <= now_ms


_KEY = TypeAdapter(ApiKey)


@dataclass(frozen=True, slots=True)
class NewKey:
    """`secret` is known here and now, and afterwards to its owner alone."""

    secret: str
    record: ApiKey


def key_digest(secret: str) -> str:
    """The sha256 by which a key is known, in hex."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


class ApiKeyStore:
    """For operators: every key of the system."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._names = _Names(key_prefix)

    def create(self, tenant: TenantId, name: str, scopes: frozenset[Scope], expires_at_ms: int | None = None) -> NewKey:
        secret = KEY_PREFIX + secrets.token_urlsafe(32)
        record = ApiKey(
            id=new_key_id(),
            tenant=tenant,
            name=name,
            shown=secret[:SHOWN_CHARS],
            scopes=scopes,
            created_at_ms=round(time.time() * 1000),
            expires_at_ms=expires_at_ms,
        )
        digest = key_digest(secret)
        pipeline = self._redis.pipeline(transaction=True)
        fields = asdict(record) | {"scopes": ",".join(sorted(scopes))}
        pipeline.hset(
            self._names.key(digest), mapping={name: value for name, value in fields.items() if value is not None}
        )
        pipeline.hset(self._names.index, record.id, digest)
        pipeline.execute()
        return NewKey(secret, record)

    def list(self, tenant: TenantId | None = None) -> list[ApiKey]:
        """All keys, or one tenant's, the oldest first; those that are over too."""
        digests = cast("dict[str, str]", self._redis.hgetall(self._names.index))
        rows = read_hashes(self._redis, (self._names.key(digests[key_id]) for key_id in sorted(digests)))
        records = (decode_key(row) for row in rows if row)
        return [record for record in records if tenant in (None, record.tenant)]

    def revoke(self, key: KeyId) -> None:
        """The key is refused from now on. Repeating it is no error; raises `KeyNotFound` for one never made."""
        digest = cast("str | None", self._redis.hget(self._names.index, key))
        if digest is None:
            raise KeyNotFound(f"there is no key {key}")
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.delete(self._names.key(digest))
        pipeline.hdel(self._names.index, key)
        pipeline.execute()


class _Names:
    def __init__(self, key_prefix: str) -> None:
        root = RedisKeys(key_prefix).root
        self.index = f"{root}:apikeys"
        self._family = f"{root}:apikey:"

    def key(self, digest: str) -> str:
        return self._family + digest


def decode_key(fields: Mapping[str, str]) -> ApiKey:
    """A key from its hash in Redis."""
    scopes = [scope for scope in fields["scopes"].split(",") if scope]
    return _KEY.validate_python({**fields, "scopes": scopes})
