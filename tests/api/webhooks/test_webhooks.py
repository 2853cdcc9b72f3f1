"""Webhook endpoints and deliveries over HTTP, and jobs that name their receiver."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from api.settings import ApiSettings
from storage.database.embedded_valkey import EmbeddedRedis
from storage.ids import TenantId
from storage.jobs.work_items import WorkerIdentity
from storage.runtime.config.settings import StorageSettings
from storage.webhooks.deliveries import WebhookQueue
from storage.webhooks.records import DeliveryAttempt, DeliveryVerdict
from tests.api.harness import SMALL, ServedApi, job_id, serve
from tests.api.voices.voices import BASE, build_all, upload
from tests.settings import api_settings_of
from tests.storage.runtime.egress.listeners import answers, listener

ENDPOINTS = "/v1/webhook-endpoints"
URL = "http://127.0.0.1:8080/hook"
FINAL = ["job.succeeded", "job.failed", "job.cancelled", "job.expired"]
UNKNOWN_ENDPOINT = "whe_" + "0" * 26
UNKNOWN_DELIVERY = "evt_" + "0" * 40


@pytest.fixture(scope="module")
def served(valkey_server: EmbeddedRedis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    store: Path = tmp_path_factory.mktemp("store")
    settings = ApiSettings(
        redis_url=SecretStr(valkey_server.url),
        broker_url=SecretStr(valkey_server.broker_url),
        store=f"file://{store}",
        url_secret=SecretStr("a-secret-for-tests-only"),
        webhook_key=SecretStr("a-sealing-key-for-tests"),
        webhook_allow_private="127.0.0.0/8",
        public_url="https://api.example",
    )
    with serve(settings) as served:
        yield served


@pytest.fixture
def api(served: ServedApi) -> ServedApi:
    served.redis.flushall()
    served.objects.delete_prefix("jobs/")
    served.models.publish(SMALL)
    return served


def create(api: ServedApi, **fields: object) -> dict[str, Any]:
    answer = api.http.post(ENDPOINTS, json={"url": URL, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


def fail_next(api: ServedApi) -> None:
    """Play the worker: one attempt that comes to nothing, and there will be no other."""
    queue = WebhookQueue(api.redis)
    (claimed,), _ = queue.claim(WorkerIdentity("hooks", "first"), 0, most=1, most_suspects=1)
    verdict = DeliveryVerdict(DeliveryAttempt(1_800_000_000_000, 12, 500, "status", "out of order"), is_delivered=False)
    queue.done([(claimed, verdict)])


def pointers(answer: httpx.Response) -> list[str]:
    return [each["pointer"] for each in answer.json()["errors"]]


def test_a_new_endpoint_shows_its_secret_once(api: ServedApi) -> None:
    answer = api.http.post(ENDPOINTS, json={"url": URL, "description": "mine", "metadata": {"a": "b"}})
    made = answer.json()

    assert answer.status_code == 201
    assert answer.headers["location"] == f"https://api.example{ENDPOINTS}/{made['id']}"
    assert made["secret"].startswith("whsec_")
    assert (made["events"], made["state"], made["metadata"]) == (FINAL, "enabled", {"a": "b"})
    seen = api.http.get(f"{ENDPOINTS}/{made['id']}")
    listed = api.http.get(ENDPOINTS).json()["data"]
    assert seen.json() == {name: value for name, value in made.items() if name != "secret"}
    assert listed == [seen.json()]
    everything = "".join(str(api.redis.dump(key)) for key in api.redis.scan_iter("*endpoint*"))
    assert made["secret"].removeprefix("whsec_") not in everything


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/url"),
        ({"url": ""}, "/url"),
        ({"url": 7}, "/url"),
        ({"url": "not a url"}, "/url"),
        ({"url": "https://user:word@receiver.example/"}, "/url"),
        ({"url": "ftp://receiver.example/"}, "/url"),
        ({"url": "https://receiver.example:22/"}, "/url"),
        ({"url": "https://10.0.0.1/"}, "/url"),
        ({"url": "http://169.254.169.254/latest/"}, "/url"),
        ({"url": "https://[::1]/"}, "/url"),
        ({"url": "https://no-such-host.invalid/"}, "/url"),
        ({"url": "http://8.8.8.8/"}, "/url"),
        ({"url": "https://x.example/" + "a" * 3000}, "/url"),
        ({"url": "https://x.example/\nHost: y"}, "/url"),
        ({"url": URL, "events": []}, "/events"),
        ({"url": URL, "events": ["job.progress"]}, "/events"),
        ({"url": URL, "events": ["*", "job.failed"]}, "/events"),
        ({"url": URL, "events": "job.failed"}, "/events"),
        ({"url": URL, "secret": "whsec_mine"}, "/secret"),
        ({"url": URL, "metadata": {"a": 1}}, "/metadata/a"),
        ({"url": URL, "description": "a" * 501}, "/description"),
    ],
)
def test_what_cannot_be_an_endpoint_is_refused_with_the_place(
    api: ServedApi, body: dict[str, Any], pointer: str
) -> None:
    answer = api.http.post(ENDPOINTS, json=body)

    assert answer.status_code == 422, answer.text
    assert pointers(answer) == [pointer]
    assert api.http.get(ENDPOINTS).json()["data"] == []


def test_registering_opens_no_connection(api: ServedApi) -> None:
    with listener(answers(b"")) as trap:
        create(api, url=f"http://127.0.0.1:{trap.port}/")

        assert trap.connections == 0


def test_an_endpoint_is_changed_disabled_enabled_and_deleted(api: ServedApi) -> None:
    path = f"{ENDPOINTS}/{create(api)['id']}"

    changed = api.http.patch(path, json={"events": ["*"], "description": "new"}).json()
    assert (changed["events"], changed["description"], changed["url"]) == (["*"], "new", URL)
    assert api.http.patch(path, json={"url": "https://10.0.0.1/"}).status_code == 422
    disabled = api.http.post(f"{path}/disable").json()
    assert (disabled["state"], disabled["disabled_reason"]) == ("disabled", "by_user")
    assert api.http.post(f"{path}/test").status_code == 409
    assert api.http.post(f"{path}/enable").json()["state"] == "enabled"
    assert api.http.delete(path).status_code == 204
    assert api.http.delete(path).status_code == 204
    assert api.http.get(path).status_code == 410


@pytest.mark.parametrize("endpoint", [UNKNOWN_ENDPOINT, "whe_short", "%2e%2e", "x" * 300])
def test_what_is_no_endpoint_is_not_found_whatever_is_asked_of_it(api: ServedApi, endpoint: str) -> None:
    path = f"{ENDPOINTS}/{endpoint}"
    asked = [
        api.http.get(path),
        api.http.patch(path, json={}),
        api.http.delete(path),
        *(api.http.post(f"{path}/{verb}") for verb in ("enable", "disable", "test", "rotate-secret")),
        api.http.get(f"{path}/deliveries"),
        api.http.post(f"{path}/deliveries/{UNKNOWN_DELIVERY}/redeliver"),
    ]

    assert {answer.status_code for answer in asked} == {404}


def test_rotating_gives_a_secret_and_tells_how_long_the_old_one_signs(api: ServedApi) -> None:
    made = create(api)
    path = f"{ENDPOINTS}/{made['id']}/rotate-secret"

    first = api.http.post(path).json()
    second = api.http.post(path, json={"overlap_s": 0}).json()

    assert len({made["secret"], first["secret"], second["secret"]}) == 3
    assert first["old_secrets_expire_at"] is not None
    assert second["old_secrets_expire_at"] is None
    assert api.http.post(path, json={"overlap_s": -1}).status_code == 422


def test_the_secret_for_urls_of_jobs_stays_until_it_is_rotated(api: ServedApi) -> None:
    first = api.http.get("/v1/webhook-secret").json()["secret"]

    assert first.startswith("whsec_")
    assert api.http.get("/v1/webhook-secret").json()["secret"] == first
    rotated = api.http.post("/v1/webhook-secret/rotate").json()
    assert rotated["secret"] != first
    assert rotated["old_secrets_expire_at"] is not None
    assert api.http.get("/v1/webhook-secret").json() == rotated


def test_a_test_is_a_delivery_that_can_be_read(api: ServedApi) -> None:
    endpoint = create(api, events=["voice.created"])["id"]

    answer = api.http.post(f"{ENDPOINTS}/{endpoint}/test")
    sent = answer.json()
    seen = api.http.get(f"/v1/webhook-deliveries/{sent['id']}").json()

    assert answer.status_code == 202
    assert (sent["type"], sent["state"], sent["endpoint_id"]) == ("webhook_endpoint.test", "pending", endpoint)
    assert json.loads(seen["payload"])["data"]["webhook_endpoint"]["id"] == endpoint
    assert seen["log"] == []


def test_deliveries_are_listed_by_state_and_sent_again(api: ServedApi) -> None:
    endpoint = create(api, events=["job.cancelled"])["id"]
    jobs = [api.submit()["id"] for _ in range(3)]
    for job in jobs:
        api.http.post(f"/v1/jobs/{job}/cancel")
    fail_next(api)
    path = f"{ENDPOINTS}/{endpoint}/deliveries"

    (failed,) = api.http.get(path, params={"state": "failed"}).json()["data"]
    first = api.http.get(path, params={"limit": 2}).json()
    rest = api.http.get(path, params={"limit": 2, "cursor": first["next_cursor"]}).json()
    again = api.http.post(f"{path}/{failed['id']}/redeliver")

    assert [each["job"] for each in first["data"] + rest["data"]] == jobs[::-1]
    assert (first["has_more"], rest["has_more"]) == (True, False)
    assert (failed["reason"], failed["attempts"]) == ("status", 1)
    assert (again.status_code, again.json()["state"], again.json()["id"]) == (202, "pending", failed["id"])
    detail = api.http.get(f"/v1/webhook-deliveries/{failed['id']}").json()
    assert detail["log"][0]["excerpt"] == "out of order"
    assert json.loads(detail["payload"])["data"]["links"]["self"] == f"https://api.example/v1/jobs/{failed['job']}"
    assert api.http.get(path, params={"state": "lost"}).status_code == 422
    assert api.http.get(path, params={"cursor": "forged"}).status_code == 422


def test_what_is_no_delivery_is_not_found(api: ServedApi) -> None:
    other = create(api)["id"]
    sent = api.http.post(f"{ENDPOINTS}/{create(api)['id']}/test").json()["id"]

    assert api.http.get(f"/v1/webhook-deliveries/{UNKNOWN_DELIVERY}").status_code == 404
    assert api.http.post(f"/v1/webhook-deliveries/{UNKNOWN_DELIVERY}/redeliver").status_code == 404
    assert api.http.get("/v1/webhook-deliveries/nonsense").status_code == 404
    assert api.http.post(f"{ENDPOINTS}/{other}/deliveries/{sent}/redeliver").status_code == 404


def test_a_job_names_a_url(api: ServedApi) -> None:
    url = f"{URL}?job=1"

    job = api.submit(webhook={"url": url, "events": ["job.created", "job.cancelled"]})
    api.http.post(f"/v1/jobs/{job['id']}/cancel")

    told = api.http.get(f"/v1/jobs/{job['id']}/webhook-deliveries").json()["data"]
    assert [(each["type"], each["url"], each["endpoint_id"]) for each in told] == [
        ("job.cancelled", url, None),
        ("job.created", url, None),
    ]
    assert job["webhook"] == {"url": url, "endpoint_id": None, "events": ["job.created", "job.cancelled"]}
    record = api.jobs.get(TenantId("local"), job_id(job))
    assert record.webhook is not None
    assert record.webhook.api_url == "https://api.example"


def test_a_job_names_an_endpoint(api: ServedApi) -> None:
    endpoint = create(api, events=["voice.created"])["id"]

    job = api.submit(webhook={"endpoint_id": endpoint})
    api.http.post(f"/v1/jobs/{job['id']}/cancel")

    told = api.http.get(f"/v1/jobs/{job['id']}/webhook-deliveries").json()["data"]
    assert [(each["type"], each["endpoint_id"]) for each in told] == [("job.cancelled", endpoint)]


@pytest.mark.parametrize(
    ("webhook", "pointer"),
    [
        ({}, "/webhook"),
        ({"url": URL, "endpoint_id": UNKNOWN_ENDPOINT}, "/webhook"),
        ({"endpoint_id": UNKNOWN_ENDPOINT}, "/webhook/endpoint_id"),
        ({"endpoint_id": "nonsense"}, "/webhook/endpoint_id"),
        ({"url": "https://10.0.0.1/"}, "/webhook/url"),
        ({"url": "http://2852039166/"}, "/webhook/url"),
        ({"url": "https://localhost.:22/" + "a" * 3000}, "/webhook/url"),
        ({"url": "gopher://receiver.example/"}, "/webhook/url"),
        ({"url": URL, "events": ["voice.created"]}, "/webhook/events"),
        ({"url": URL, "secret": "mine"}, "/webhook/secret"),
    ],
)
def test_a_job_that_names_nobody_who_may_be_told_is_refused(
    api: ServedApi, webhook: dict[str, Any], pointer: str
) -> None:
    answer = api.http.post("/v1/jobs", json={"input": {"text": "Hello."}, "webhook": webhook})

    assert answer.status_code == 422, answer.text
    assert pointers(answer) == [pointer]
    assert api.http.get("/v1/jobs").json()["data"] == []


def test_a_job_is_not_refused_because_a_name_server_is_slow(api: ServedApi) -> None:
    job = api.submit(webhook={"url": "https://no-such-host.invalid/hook"})

    assert job["state"] == "pending"


def test_a_disabled_endpoint_is_no_receiver_of_a_job(api: ServedApi) -> None:
    endpoint = create(api)["id"]
    api.http.post(f"{ENDPOINTS}/{endpoint}/disable")

    answer = api.http.post("/v1/jobs", json={"input": {"text": "Hello."}, "webhook": {"endpoint_id": endpoint}})

    assert (answer.status_code, pointers(answer)) == (422, ["/webhook/endpoint_id"])


def test_a_repeated_submission_is_told_of_once(api: ServedApi) -> None:
    create(api, events=["job.created"])
    body = {"input": {"text": "Hello."}, "webhook": {"url": URL, "events": ["job.created"]}}

    jobs = {api.http.post("/v1/jobs", json=body, headers={"Idempotency-Key": "k"}).json()["id"] for _ in range(3)}

    (job,) = jobs
    assert len(api.http.get(f"/v1/jobs/{job}/webhook-deliveries").json()["data"]) == 2


def test_voices_and_the_job_that_prepares_them_tell_of_themselves(api: ServedApi) -> None:
    api.models.publish(BASE)
    endpoint = create(api, events=["voice.created", "voice.cache.ready", "voice.deleted"])["id"]
    voice = upload(api)["id"]
    order = {"voices": [voice], "webhook": {"url": URL}}

    job = api.http.post("/v1/voice-caches", json=order).json()
    build_all(api)
    api.http.delete(f"/v1/voices/{voice}")

    told = api.http.get(f"/v1/jobs/{job['id']}/webhook-deliveries").json()["data"]
    assert [(each["type"], each["url"]) for each in told] == [("job.succeeded", URL)]
    events = api.http.get(f"{ENDPOINTS}/{endpoint}/deliveries").json()["data"]
    assert [each["type"] for each in events] == ["voice.deleted", "voice.cache.ready", "voice.created"]


def test_the_description_says_what_receivers_get(api: ServedApi) -> None:
    schemas = api.http.get("/openapi.json").json()["components"]["schemas"]

    assert {"EndpointOrder", "EndpointChange", "RotateOrder", "WebhookPayload", "JobWebhookRequest"} <= set(schemas)


def test_tenants_see_nothing_of_each_other(storage_settings: StorageSettings) -> None:
    keys = {hashlib.sha256(name.encode()).hexdigest(): name for name in ("alice", "bob")}
    settings = api_settings_of(
        storage_settings,
        webhook_key="a-sealing-key-for-tests",
        webhook_allow_private="loopback",
        api_keys=keys,
    )
    with serve(settings) as served:
        served.models.publish(SMALL)
        alice, bob = ({"Authorization": f"Bearer {name}"} for name in ("alice", "bob"))
        made = served.http.post(ENDPOINTS, json={"url": URL, "events": ["*"]}, headers=alice).json()
        sent = served.http.post(f"{ENDPOINTS}/{made['id']}/test", headers=alice).json()
        path = f"{ENDPOINTS}/{made['id']}"

        asked = [
            served.http.get(path, headers=bob),
            served.http.patch(path, json={"description": "mine"}, headers=bob),
            served.http.delete(path, headers=bob),
            *(served.http.post(f"{path}/{verb}", headers=bob) for verb in ("enable", "disable", "test")),
            served.http.post(f"{path}/rotate-secret", headers=bob),
            served.http.get(f"{path}/deliveries", headers=bob),
            served.http.post(f"{path}/deliveries/{sent['id']}/redeliver", headers=bob),
            served.http.get(f"/v1/webhook-deliveries/{sent['id']}", headers=bob),
            served.http.post(f"/v1/webhook-deliveries/{sent['id']}/redeliver", headers=bob),
        ]
        theirs = {"input": {"text": "Hello."}, "webhook": {"endpoint_id": made["id"]}}
        stolen = served.http.post("/v1/jobs", json=theirs, headers=bob)

        assert {answer.status_code for answer in asked} == {404}
        assert (stolen.status_code, pointers(stolen)) == (422, ["/webhook/endpoint_id"])
        assert served.http.get(ENDPOINTS, headers=bob).json()["data"] == []
        secrets = {served.http.get("/v1/webhook-secret", headers=who).json()["secret"] for who in (alice, bob)}
        assert len(secrets) == 2


def test_without_a_key_to_seal_with_there_are_no_webhooks_and_the_answer_says_so(
    storage_settings: StorageSettings,
) -> None:
    settings = api_settings_of(storage_settings, webhook_allow_private="loopback")
    with serve(settings) as served:
        served.models.publish(SMALL)
        asked = [
            served.http.post(ENDPOINTS, json={"url": URL}),
            served.http.get("/v1/webhook-secret"),
            served.http.post("/v1/jobs", json={"input": {"text": "Hello."}, "webhook": {"url": URL}}),
        ]

        assert {(answer.status_code, answer.json()["code"]) for answer in asked} == {(503, "webhooks_unavailable")}
        assert served.http.post("/v1/jobs", json={"input": {"text": "Hello."}}).status_code == 202
