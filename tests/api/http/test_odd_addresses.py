"""Addresses that no parser of addresses agrees on, wherever a caller may name one: refused, and nothing falls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from storage.runtime.config.settings import StorageSettings
from tests.api.harness import SMALL, ServedApi, serve
from tests.api.voices.voices import BASE, CONSENT
from tests.settings import api_settings_of

ODD = [
    "https://[",
    "https://]",
    "https://[::1",
    "https://[v1.x]/",
    "https://[1:2]/",
    "https://[::1%25lo]/",
    "https://a]b/",
    "https://a[b/",
    "https://host:99999/",
    "https://host:0/",
    "https://host:-1/",
    "https://host:port/",
    "https://host:443:1/",
    "https://h\uff0fx/",
    "https://\u2100.com/",
    "https://%5B/",
    "https://@/",
    "https:///",
]


@pytest.fixture(scope="module")
def secret() -> str:
    return "a-sealing-key-for-tests"


@pytest.fixture
def api(storage_settings: StorageSettings, secret: str) -> Iterator[ServedApi]:
    """Every door is open to this machine, so that an address gets as far as it can."""
    settings = api_settings_of(
        storage_settings,
        webhook_key=secret,
        webhook_allow_private="loopback",
    )
    with serve(settings) as served:
        served.models.publish(SMALL)
        served.models.publish(BASE)
        yield served


def orders(address: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every call that takes an address, with this one."""
    speech = {"input": {"text": "Hello."}}
    yield "POST", "/v1/webhook-endpoints", {"url": address}
    yield "POST", "/v1/jobs", {**speech, "webhook": {"url": address}}
    yield "POST", "/v1/jobs", {**speech, "model": "base", "ref_audio": address, "consent": CONSENT}
    yield "POST", "/v1/audio/speech", {"input": "Hello.", "ref_audio": address, "consent": CONSENT}


def test_an_odd_address_is_refused_wherever_it_is_named(api: ServedApi) -> None:
    endpoint = api.http.post("/v1/webhook-endpoints", json={"url": "http://127.0.0.1:8080/"}).json()["id"]
    for address in ODD:
        calls = [*orders(address), ("PATCH", f"/v1/webhook-endpoints/{endpoint}", {"url": address})]
        for method, path, body in calls:
            answer = api.http.request(method, path, json=body)
            assert answer.status_code == 422, f"{method} {path} {body}: {answer.status_code} {answer.text}"
    assert api.http.get("/v1/jobs").json()["data"] == []
