"""Clients of Redis and of the object store, built from settings; the one place that sets time-outs and retries."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlsplit

import redis
import redis.asyncio
import redis.asyncio.retry
import redis.retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError as RedisConnectionError

from storage.database.async_connections import ShrinkingPool
from storage.database.failover import async_failover_pool, failover_pool
from storage.database.redis_errors import StateRedis
from storage.errors import StoreUnavailable
from storage.objects.patience import FOR_WORK, StoreTimeouts
from storage.objects.store import ArtifactStore
from storage.runtime.config.sentinel_url import is_sentinel_url, parse_sentinel_url
from storage.runtime.config.settings import SettingsError, StorageSettings

SOCKET_TIMEOUT_S = 10.0
CONNECT_TIMEOUT_S = 3.0
HEALTH_CHECK_INTERVAL_S = 10

RECONNECTS = 3
"""Every function is idempotent, so a command is sent again when its connection broke. A time-out is not retried:
ten more seconds would not help the caller. With the backoff below a dead server is reported within a second."""

MAX_CONNECTIONS = 4_000
"""Of one process: a worker has half as many threads again as its engine has slots. The library's own limit is 100;
Redis takes 10,000 clients by default."""


def connect_redis(settings: StorageSettings) -> StateRedis:
    """A client for the state database, text in and out; connects on first use. Close it."""
    given = settings.redis_url.get_secret_value()
    retry = redis.retry.Retry(ExponentialBackoff(cap=0.2, base=0.02), RECONNECTS, (RedisConnectionError,))
    if is_sentinel_url(given):
        client = StateRedis.from_pool(failover_pool(parse_sentinel_url(given), retry=retry, **_options(given)))
    else:
        url = settings.tls_files.redis_url(given)
        client = StateRedis.from_url(url, retry=retry, **_options(url))
    # The library says of both that they return its own class.
    return cast("StateRedis", client)


def connect_redis_async(settings: StorageSettings) -> redis.asyncio.Redis:
    """As `connect_redis`, for the event loop."""
    given = settings.redis_url.get_secret_value()
    retry = redis.asyncio.retry.Retry(ExponentialBackoff(cap=0.2, base=0.02), RECONNECTS, (RedisConnectionError,))
    if is_sentinel_url(given):
        pool = async_failover_pool(parse_sentinel_url(given), retry=retry, **_options(given))
        return redis.asyncio.Redis.from_pool(pool)
    url = settings.tls_files.redis_url(given)
    return redis.asyncio.Redis.from_pool(ShrinkingPool.from_url(url, retry=retry, **_options(url)))


def open_artifacts(settings: StorageSettings, patience: StoreTimeouts = FOR_WORK) -> ArtifactStore:
    """The object store that `settings.store` names. patience: with one that is a server.

    Raises `SettingsError` for a folder that cannot be made.
    """
    if settings.store.startswith("file:"):
        from storage.objects.local_store import LocalArtifactStore

        try:
            return LocalArtifactStore(settings.store_path, settings.url_secret.get_secret_value().encode())
        except StoreUnavailable as error:
            raise SettingsError(f"RHAPSODE_STORE: {error}") from error
    # boto3 costs a third of a second to import, which a folder store need not pay.
    from storage.objects.s3_client import connect_objects, connect_s3
    from storage.objects.s3_store import S3ArtifactStore

    parts = urlsplit(settings.store)
    client = connect_s3(settings.s3_endpoint_url, settings.s3_region, tls=settings.tls_files, patience=patience)
    region, tls = settings.s3_region, settings.tls_files
    objects = connect_objects(client, parts.netloc, region=region, tls=tls, patience=patience)
    public = settings.s3_public_endpoint
    signer = connect_s3(public, client.meta.region_name) if public else client
    return S3ArtifactStore(client, objects, parts.netloc, parts.path.strip("/"), signer, patience)


def _options(url: str) -> dict[str, Any]:
    options: dict[str, Any] = {
        "decode_responses": True,
        "max_connections": MAX_CONNECTIONS,
        "socket_timeout": SOCKET_TIMEOUT_S,
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "health_check_interval": HEALTH_CHECK_INTERVAL_S,
    }
    if not url.startswith("unix:"):
        options["socket_keepalive"] = True
    return options
