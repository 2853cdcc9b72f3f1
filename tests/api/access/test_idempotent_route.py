"""Repeats of a POST: answered as the first time, carried out once."""

from __future__ import annotations

import threading

import httpx
import pytest

from api.access.idempotent_route import IdempotentRoute
from api.settings import ApiSettings
from storage.tenants.api_keys import key_digest
from tests.api.harness import SMALL, ServedApi, serve
from tests.api.openapi.routes import api_routes
from tests.api.voices.voices import CONSENT, recording
from tests.settings import api_settings_of
from tests.threads import join_in_time

KEY = {"Idempotency-Key": "once"}

pytestmark = pytest.mark.usefixtures("cloning")


def add_voice(client: httpx.Client, name: str = "Ada") -> httpx.Response:
    form = {"name": name, "consent": CONSENT}
    files = {"audio_sample": ("a.wav", recording(), "audio/wav")}
    return client.post("/v1/voices", data=form, files=files, headers=KEY)


def test_a_form_sent_again_makes_one_voice(api: ServedApi) -> None:
    first, second = add_voice(api.http), add_voice(api.http)

    # The boundary between the parts, which httpx draws anew.
    assert first.request.headers["content-type"] != second.request.headers["content-type"]
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert first.headers["location"] == second.headers["location"]
    assert second.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert len(api.http.get("/v1/voices", params={"kind": "own"}).json()["data"]) == 1


def test_another_body_or_another_path_under_the_key_is_refused(api: ServedApi) -> None:
    add_voice(api.http)

    other = add_voice(api.http, "Bo")
    elsewhere = api.http.post("/v1/uploads", json={"bytes": 5}, headers=KEY)

    for answer in (other, elsewhere):
        assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_mismatch")
    assert api.http.post("/v1/uploads", json={"bytes": 5}).status_code == 201


def test_a_refused_request_may_be_mended_under_its_key(api: ServedApi) -> None:
    assert api.http.post("/v1/uploads", json={"bytes": 0}, headers=KEY).status_code == 422

    assert api.http.post("/v1/uploads", json={"bytes": 5}, headers=KEY).status_code == 201


def test_of_many_at_once_one_is_carried_out_and_the_others_are_told(api: ServedApi) -> None:
    answers: list[httpx.Response] = []

    def send() -> None:
        with httpx.Client(base_url=api.url, timeout=30) as client:
            answers.append(add_voice(client))

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    join_in_time(*threads)

    assert {answer.status_code for answer in answers} <= {201, 409}
    made = {answer.json()["id"] for answer in answers if answer.status_code == 201}
    told = [answer.json() for answer in answers if answer.status_code == 409]
    assert len(made) == 1
    assert {(problem["code"], problem["retryable"]) for problem in told} <= {("idempotency_in_progress", True)}
    assert len(api.http.get("/v1/voices", params={"kind": "own"}).json()["data"]) == 1


@pytest.mark.parametrize("key", ["", "x" * 256, "tab\there"])
def test_a_key_that_is_none_is_refused(api: ServedApi, key: str) -> None:
    answer = api.http.post("/v1/uploads", json={"bytes": 5}, headers={"Idempotency-Key": key})

    assert (answer.status_code, answer.json()["errors"][0]["header"]) == (400, "Idempotency-Key")


def test_a_secret_is_not_told_again(api: ServedApi) -> None:
    order = {"tenant": "ann", "name": "test"}

    first = api.http.post("/v1/admin/api-keys", json=order, headers=KEY).json()
    second = api.http.post("/v1/admin/api-keys", json=order, headers=KEY).json()

    assert first["secret"]
    assert second == first | {"secret": None}
    assert len(api.http.get("/v1/admin/api-keys").json()["data"]) == 1
    entries = [api.redis.get(key) for key in api.redis.scan_iter(match="*replay*")]
    assert entries
    assert all(first["secret"] not in str(entry) for entry in entries)


def test_each_tenant_has_its_own_keys(api_settings: ApiSettings) -> None:
    keys = {key_digest(name): name for name in ("ann", "ben")}
    with serve(api_settings_of(api_settings, api_keys=keys)) as api:
        api.models.publish(SMALL)
        made = [
            api.http.post("/v1/uploads", json={"bytes": 5}, headers=KEY | {"Authorization": f"Bearer {name}"}).json()
            for name in ("ann", "ben", "ann")
        ]

    assert made[0]["id"] != made[1]["id"]
    assert made[0] == made[2]


def test_an_answer_is_kept_for_a_day(api: ServedApi) -> None:
    api.http.post("/v1/uploads", json={"bytes": 5}, headers=KEY)
    (name,) = api.redis.scan_iter(match="*replay*")

    assert 24 * 3600 - 60 < api.redis.ttl(name) <= 24 * 3600


def test_every_post_takes_an_idempotency_key(api_settings: ApiSettings) -> None:
    """Itself, in the script that carries it out, or wrapped. Repeats of a transition do nothing by nature."""
    posts = [route for route in api_routes(api_settings) if "POST" in (route.methods or ())]
    by_nature = {f"/v1/jobs/{{job_id}}/{action}" for action in ("cancel", "pause", "resume")}

    without = [
        route.path
        for route in posts
        if not isinstance(route, IdempotentRoute)
        and not any(field.alias == "Idempotency-Key" for field in route.dependant.header_params)
        and route.path not in by_nature
    ]
    assert without == []


def test_keys_are_kept_by_digest(api: ServedApi) -> None:
    """What a client calls its request is nobody's business, and may hold anything."""
    api.http.post("/v1/uploads", json={"bytes": 5}, headers={"Idempotency-Key": "order {of} Ann: 7*"})

    assert not any("Ann" in key for key in api.redis.scan_iter())
