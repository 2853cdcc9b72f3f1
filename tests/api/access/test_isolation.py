"""Every route, called with another tenant's ids: it answers as if there were nothing, and changes nothing.

The routes are the application's own, so that a new one cannot be forgotten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import httpx
import pytest

from api.settings import ApiSettings
from storage.tenants.api_keys import key_digest
from tests.api.harness import ServedApi, serve
from tests.api.openapi.routes import api_routes
from tests.api.voices.voices import BASE, CONSENT, recording
from tests.settings import api_settings_of

ANN, BEN = ({"Authorization": f"Bearer {name}"} for name in ("ann", "ben"))
SECRET = "annabel"
"""In every name and text of Ann's."""

NOT_OF_A_TENANT = ("/v1/objects/", "/v1/admin/", "/errors/")


@pytest.fixture
def guarded(api_settings: ApiSettings) -> Iterator[ServedApi]:
    keys = {key_digest(name): name for name in ("ann", "ben")}
    settings = api_settings_of(api_settings, api_keys=keys, webhook_key="a-sealing-key-for-tests")
    with serve(settings) as api:
        api.models.publish(BASE)
        yield api


def routes(settings: ApiSettings) -> list[tuple[str, str]]:
    found = [
        (method, route.path)
        for route in api_routes(settings)
        if "{" in route.path and not route.path.startswith(NOT_OF_A_TENANT)
        for method in sorted(route.methods or ())
    ]
    assert len(found) > 20
    return found


def made_by_ann(api: ServedApi) -> dict[str, str]:
    """One of everything that has an id, by the name of its path parameter."""
    voice = api.http.post(
        "/v1/voices",
        data={"name": SECRET, "consent": CONSENT},
        files={"audio_sample": ("a.wav", recording(), "audio/wav")},
        headers=ANN,
    ).json()
    text = f"{SECRET} was here. And here she was again."
    job = api.http.post("/v1/jobs", json={"input": {"text": text}, "voice": SECRET}, headers=ANN).json()
    place = api.http.post("/v1/uploads", json={"bytes": len(SECRET)}, headers=ANN).json()
    httpx.put(place["url"], content=SECRET.encode())
    dictionary = api.http.post(
        "/v1/pronunciation-dictionaries",
        json={"name": SECRET, "rules": [{"grapheme": "Ann", "alias": SECRET}]},
        headers=ANN,
    ).json()
    endpoint = api.http.post(
        "/v1/webhook-endpoints",
        json={"url": f"https://93.184.215.14/{SECRET}", "events": ["job.succeeded"]},
        headers=ANN,
    ).json()
    line = json.dumps({"custom_id": SECRET, "input": {"text": SECRET}, "voice": SECRET})
    batch = api.http.post(
        "/v1/batches", content=line.encode(), headers=ANN | {"Content-Type": "application/jsonl"}
    ).json()
    return {
        "job_id": job["id"],
        "voice_id": voice["id"],
        "upload_id": place["id"],
        "dictionary_id": dictionary["id"],
        "endpoint_id": endpoint["id"],
        "delivery_id": "evt_" + "0" * 40,
        "segment": "0",
        "segment_id": "seg_000000",
        "sentence": "seg_000000.0",
        "take": "1",
        "attempt": "1",
        "version": "1",
        "name": SECRET,
        "model_name": SECRET,
        "batch_id": batch["id"],
    }


def everything(api: ServedApi) -> dict[str, bytes | None]:
    return {
        key: api.redis.dump(key) for key in api.redis.scan_iter() if not re.search(r":(rate|apikey|replay|LIMITS)", key)
    }


def test_another_tenants_ids_are_nothing_anywhere(guarded: ServedApi, api_settings: ApiSettings) -> None:
    ids = made_by_ann(guarded)
    before, (_, objects) = everything(guarded), guarded.traces()
    wrong: list[str] = []

    for method, path in routes(api_settings):
        address = path
        for name in re.findall(r"{([a-z_]+)", path):
            assert name in ids, f"{path}: made_by_ann has no {name}"
            address = re.sub(rf"{{{name}(:path)?}}", ids[name], address)
        answer = guarded.http.request(
            method, address, headers=BEN, json={} if method in ("POST", "PUT", "PATCH") else None
        )
        if answer.status_code < 400 or answer.status_code >= 500 or (SECRET in answer.text and SECRET not in address):
            wrong.append(f"{method} {address}: {answer.status_code} {answer.text[:200]}")

    assert "\n".join(wrong) == ""
    assert everything(guarded) == before
    assert guarded.traces()[1] == objects


def test_lists_show_nothing_of_another_tenant(guarded: ServedApi, api_settings: ApiSettings) -> None:
    made_by_ann(guarded)
    lists = [
        route.path for route in api_routes(api_settings) if "GET" in (route.methods or ()) and "{" not in route.path
    ]

    for path in lists:
        answer = guarded.http.get(path, headers=BEN)
        assert SECRET not in answer.text, path
        assert answer.status_code < 500, path


def test_a_name_of_another_tenants_voice_means_nothing(guarded: ServedApi) -> None:
    made_by_ann(guarded)

    answer = guarded.http.post("/v1/jobs", json={"input": {"text": "Hello."}, "voice": SECRET}, headers=BEN)

    assert answer.status_code in (404, 422)
