from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from api.settings import ApiSettings
from storage.database.embedded_valkey import EmbeddedRedis
from storage.runtime.config.settings import StorageSettings
from storage.tenants.api_keys import key_digest
from tests.api.harness import SMALL, ServedApi, serve
from tests.api.voices.voices import BASE
from tests.settings import PATIENT, api_settings_of

URL_SECRET = "a-secret-for-tests-only"


@pytest.fixture
def api_settings(storage_settings: StorageSettings) -> ApiSettings:
    """For an API of the test's own."""
    return api_settings_of(storage_settings)


@pytest.fixture(scope="session")
def session_api(valkey_server: EmbeddedRedis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    """Starting and stopping a server takes as long as ten tests."""
    store: Path = tmp_path_factory.mktemp("store")
    settings = ApiSettings(
        redis_url=SecretStr(valkey_server.url),
        broker_url=SecretStr(valkey_server.broker_url),
        store=f"file://{store}",
        url_secret=SecretStr(URL_SECRET),
        max_text_chars=100_000,
    )
    with serve(settings, limits=replace(PATIENT, body_bytes=400_000)) as served:
        yield served


@pytest.fixture
def api(session_api: ServedApi) -> ServedApi:
    """An API without keys over empty stores, with one announced model."""
    session_api.redis.flushall()
    for kind in {entry.key.partition("/")[0] for entry in session_api.objects.list("")}:
        session_api.objects.delete_prefix(f"{kind}/")
    session_api.models.publish(SMALL)
    return session_api


@pytest.fixture
def cloning(api: ServedApi) -> ServedApi:
    """`api` with a model that clones beside the one that does not."""
    api.models.publish(BASE)
    return api


@pytest.fixture
def guarded(api_settings: ApiSettings) -> Iterator[ServedApi]:
    """Of an operator and of Ann, each with a key."""
    keys = {key_digest("key-of-the-operator"): "operator", key_digest("key-of-ann"): "ann"}
    with serve(api_settings_of(api_settings, api_keys=keys)) as api:
        api.models.publish(SMALL)
        yield api
