"""The answers for operators over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from api.services.fleet_view import MOST_TENANTS
from rhapsode.contract.operators.fleet import EngineState
from storage.ids import TenantId
from storage.jobs.record import JobError
from storage.live.address import LiveAddress
from storage.queue.worker_registry import WorkerRegistry, WorkerReport, WorkerRole
from storage.runtime.config.settings import StorageSettings
from tests.api.harness import GPU_QUEUE, SMALL, ServedApi, serve, start_job
from tests.settings import api_settings_of
from tests.storage.job_store.job_driver import submission

ENGINE = EngineState(
    active_requests=12,
    waiting_requests=3,
    batch_fill=0.75,
    audio_s_per_s=20.5,
    step_ms=80.0,
    audio_s_total=1234.5,
    steps_total=9999,
    restarts=0,
)
LIVE = LiveAddress("wss://10.0.0.7:8900", "a-token-of-this-start", 8, 5, "revision", 1.5)


@pytest.fixture
def api(storage_settings: StorageSettings) -> Iterator[ServedApi]:
    with serve(api_settings_of(storage_settings)) as served:
        served.models.publish(SMALL)
        yield served


def announce(api: ServedApi, leases: int = 12) -> None:
    WorkerRegistry(api.redis).report(
        WorkerReport(
            *("gpu-0", WorkerRole.GPU, "host", 7, "0.1.0", 1_700_000_000_000, leases),
            *(GPU_QUEUE, "small", 16, ENGINE),
            live=LIVE,
        )
    )


def test_workers_are_listed_with_what_their_engines_do(api: ServedApi) -> None:
    announce(api)

    (worker,) = api.http.get("/v1/admin/workers").json()["data"]

    assert (worker["name"], worker["role"], worker["state"], worker["slots"]) == ("gpu-0", "gpu", "ready", 16)
    assert worker["engine"]["batch_fill"] == 0.75
    assert worker["voice_cache"] is None


def test_where_a_worker_speaks_live_is_for_the_api_and_shown_to_nobody(api: ServedApi) -> None:
    announce(api)

    (listed,) = WorkerRegistry(api.redis).list()
    shown = api.http.get("/v1/admin/workers").text

    assert listed.report.live == LIVE
    assert LIVE.token not in repr(listed)
    assert LIVE.token not in shown
    assert "10.0.0.7" not in shown


def test_a_worker_is_drained_and_undrained(api: ServedApi) -> None:
    announce(api)

    drained = api.http.post("/v1/admin/workers/gpu-0/drain")
    assert (drained.status_code, drained.json()["state"]) == (202, "draining")
    back = api.http.post("/v1/admin/workers/gpu-0/undrain")
    assert (back.status_code, back.json()["state"]) == (202, "ready")


@pytest.mark.parametrize("name", ["nobody", "no%20name", "x" * 200])
def test_an_unknown_worker_is_not_found(api: ServedApi, name: str) -> None:
    answer = api.http.post(f"/v1/admin/workers/{name}/drain")

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_queues_are_shown_with_backlog_waits_and_tickets(api: ServedApi) -> None:
    announce(api)
    api.submit()
    start_job(api)
    api.submit(not_before=(datetime.now(UTC) + timedelta(hours=1)).isoformat())

    answer = api.http.get("/v1/admin/queues").json()

    gpu = next(queue for queue in answer["data"] if queue["name"] == GPU_QUEUE)
    assert (gpu["lane"], gpu["model"], gpu["workers"], gpu["ready_items"]) == ("gpu", "small", 1, 1)
    rank = next(each for each in gpu["classes"] if each["jobs"])
    assert rank["class"] in ("interactive", "bulk")
    assert rank["backlog_audio_s"] > 0
    assert rank["oldest_wait_s"] >= 0
    cpu = next(queue for queue in answer["data"] if queue["name"] == "cpu")
    assert cpu["tickets"] == 1
    assert answer["totals"]["leases"] == 1
    assert (answer["totals"]["unfinished_jobs"], answer["totals"]["scheduled_jobs"]) == (2, 1)
    assert "\nrhapsode_scheduled_jobs 1.0\n" in api.http.get("/metrics").text
    assert answer["totals"]["batch_fill"] == 0.75


def test_the_ten_tenants_with_most_audio_are_named_the_largest_first(api: ServedApi) -> None:
    announce(api)
    assert api.http.get("/v1/admin/queues").json()["tenants"] == []
    submit_for(api, "small", 1)
    submit_for(api, "large", 3)

    large, small = api.http.get("/v1/admin/queues").json()["tenants"]

    assert (large["tenant"], large["jobs"], small["tenant"], small["jobs"]) == ("large", 3, "small", 1)
    assert large["audio_s"] == 3 * small["audio_s"] > 0
    for number in range(MOST_TENANTS):
        submit_for(api, f"middle-{number}", 2)
    named = [each["tenant"] for each in api.http.get("/v1/admin/queues").json()["tenants"]]
    assert (len(named), named[0], "small" in named) == (MOST_TENANTS, "large", False)


def submit_for(api: ServedApi, tenant: str, jobs: int) -> None:
    for _ in range(jobs):
        api.jobs.submit(submission(TenantId(tenant)))


def test_queues_and_metrics_tell_that_nothing_is_claimed(api: ServedApi) -> None:
    assert api.http.get("/v1/admin/queues").json()["totals"]["claims_held"] is None
    assert "\nrhapsode_claims_held 0.0\n" in api.http.get("/metrics").text

    api.redis.set("{rhapsode}:held", "Redis is empty")

    assert api.http.get("/v1/admin/queues").json()["totals"]["claims_held"] == "Redis is empty"
    assert "\nrhapsode_claims_held 1.0\n" in api.http.get("/metrics").text


def test_what_was_given_up_is_listed_page_by_page_and_forgotten(api: ServedApi) -> None:
    for _ in range(3):
        api.submit()
        api.jobs.fail(start_job(api).lease, JobError("segment_quality", "it never passed", 0))

    first = api.http.get("/v1/admin/dlq", params={"limit": 2}).json()
    rest = api.http.get("/v1/admin/dlq", params={"limit": 2, "cursor": first["next_cursor"]}).json()

    assert (len(first["data"]), first["has_more"], len(rest["data"]), rest["has_more"]) == (2, True, 1, False)
    assert {each["code"] for each in first["data"]} == {"segment_quality"}
    entry = first["data"][0]["id"]
    assert api.http.delete(f"/v1/admin/dlq/{entry}").status_code == 204
    assert api.http.delete(f"/v1/admin/dlq/{entry}").status_code == 404
    assert api.http.delete("/v1/admin/dlq/nonsense").status_code == 404
    assert api.http.get("/v1/admin/dlq", params={"cursor": "x"}).status_code == 422


def test_an_audit_finds_nothing_in_a_sound_system_and_tells_what_it_finds_in_another(api: ServedApi) -> None:
    api.submit()

    assert api.http.post("/v1/admin/audit").json()["drift"] == []
    api.redis.hincrby("{rhapsode}:counters", "cpu", 2)
    found = api.http.post("/v1/admin/audit").json()["drift"]

    assert found == [{"counter": "ready:cpu", "expected": 1, "actual": 3}]
