"""What a `redis+sentinel://` URL says, and the broker's that follows from it."""

from __future__ import annotations

import pytest

from storage.queue.celery_queue import kombu_url
from storage.runtime.config.sentinel_url import SentinelUrl, parse_sentinel_url
from storage.runtime.config.settings import StorageSettings
from storage.runtime.observability.redaction import secrets_of

FULL = "redis+sentinel://app:p%40ss@one.test,two.test:5000,[::1]:26380/speech/2?sentinel_password=other-word"


def test_everything_that_a_url_may_say() -> None:
    assert parse_sentinel_url(FULL) == SentinelUrl(
        sentinels=(("one.test", 26379), ("two.test", 5000), ("::1", 26380)),
        service="speech",
        database=2,
        username="app",
        password="p@ss",
        sentinel_password="other-word",
    )


def test_what_may_be_left_out() -> None:
    assert parse_sentinel_url("redis+sentinel://host/speech") == SentinelUrl((("host", 26379),), "speech")


def test_tickets_are_in_database_1_of_the_same_service_in_kombus_spelling() -> None:
    settings = StorageSettings.model_validate({"redis_url": FULL, "store": "s3://bucket"})

    assert settings.broker_url.get_secret_value() == FULL.replace("/speech/2", "/speech/1")
    assert kombu_url(settings) == (
        "sentinel://app:p%40ss@one.test:26379/1;sentinel://app:p%40ss@two.test:5000/1;"
        "sentinel://app:p%40ss@[::1]:26380/1"
    )


def test_both_passwords_are_kept_out_of_logs() -> None:
    settings = StorageSettings.model_validate({"redis_url": FULL, "store": "s3://bucket"})

    assert {"p@ss", "other-word"} <= set(secrets_of(settings))


@pytest.mark.parametrize("least", [-1, 6])
def test_as_many_replicas_as_there_may_be(least: int) -> None:
    with pytest.raises(ValueError, match="accept_replicas"):
        StorageSettings.model_validate({"accept_replicas": least, "store": "s3://bucket"})
