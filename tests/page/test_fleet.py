"""The fleet as an operator uses it: workers, history, causes of waits and failed items."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from playwright.sync_api import Locator, Page, expect

from api.services.fleet_view import minute_of
from rhapsode.contract.operators.fleet import EngineState
from storage.jobs.record import JobError
from storage.live.address import LiveAddress
from storage.queue.fleet_history import MINUTE_MS, FleetHistoryStore
from storage.queue.overview import QueueOverviews
from storage.queue.worker_registry import (
    ListedWorker,
    WorkerRegistry,
    WorkerReport,
    WorkerRole,
    WorkerState,
)
from storage.recovery.state_guard import StateGuard
from tests.api.harness import GPU_QUEUE, ServedApi, start_job
from tests.page.conftest import OpenPage
from tests.page.test_accessibility import faults

Shoot = Callable[[Page, str], None]


def give_up(api: ServedApi, detail: str) -> str:
    """A narration whose only passage failed for good; its id."""
    job = api.submit()
    api.jobs.fail(start_job(api, 1).lease, JobError("segment_quality", detail, 0))
    return job["id"]


def worker(page: Page, name: str) -> Locator:
    return page.locator("tbody tr", has=page.get_by_role("rowheader", name=name))


def test_a_worker_is_drained_and_taken_up_again(open_page: OpenPage) -> None:
    """The one that sends webhooks: no other test waits for it."""
    page = open_page("fleet")
    badge = worker(page, "hooks-0").locator(".badge")
    expect(badge).to_have_text("Ready")

    page.get_by_role("button", name="Drain: hooks-0").click()

    expect(badge).to_have_text("Drained")
    # The button that was pressed hands the focus to the one that takes its place.
    expect(page.get_by_role("button", name="Resume: hooks-0")).to_be_focused()
    page.keyboard.press("Enter")
    expect(badge).to_have_text("Ready")


def test_what_was_given_up_is_tried_again_or_dropped(open_at: OpenPage, api: ServedApi, shoot: Shoot) -> None:
    dropped, retried = give_up(api, "It never <b>passed</b>."), give_up(api, "It was silent.")
    page = open_at(api.url, "fleet", reduced_motion="reduce")
    rows = page.get_by_role("region", name="Failed items").get_by_role("listitem")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("It was silent.")
    expect(rows.last).to_contain_text("It never <b>passed</b>.")
    expect(rows.first).to_contain_text("failed after 1 attempt")
    assert faults(page) == []
    shoot(page, "fleet-given-up")

    rows.first.get_by_role("button", name="Retry").click()
    expect(rows).to_have_count(1)
    rows.first.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove it").click()

    expect(page.get_by_text("No entries are left.")).to_be_visible()
    assert api.http.get("/v1/admin/dlq").json()["data"] == []
    assert api.http.get(f"/v1/jobs/{retried}").json()["state"] == "pending"
    assert api.http.get(f"/v1/jobs/{dropped}").json()["state"] == "failed"


def test_the_history_is_drawn_with_its_time_axis(open_at: OpenPage, api: ServedApi, shoot: Shoot) -> None:
    """Points as the API's own recorder makes them, of 26 h with an outage, stored by the real store."""
    history, overviews = FleetHistoryStore(api.redis), QueueOverviews(api.redis)
    now_ms = history.now_ms()
    overview, workers = overviews.read(), (a_worker(),)
    for ago in range(26 * 60, 0, -1):
        at_ms = now_ms - now_ms % MINUTE_MS - ago * MINUTE_MS
        seen = minute_of(overview, workers, at_ms, 40.0 - ago / 100, given_up=ago % 7 == 0)
        changes = {"backlog_audio_s": 60.0 * ago, "wait_p50_s": 2.0, "wait_p95_s": 20.0, "oldest_wait_s": 90.0}
        if not 200 < ago < 230:
            history.add(seen.model_copy(update=changes))
    page = open_at(api.url, "fleet", reduced_motion="reduce")

    speech = page.get_by_role("img", name="Throughput: now 40, at most 40")
    expect(speech).to_be_visible()
    assert lines_of(speech) == 1
    waits = page.get_by_role(
        "img", name=re.compile("^Wait for a turn: now median 2 s, 95th percentile 20 s, longest 1 min")
    )
    expect(waits.locator(".history-line")).to_have_count(3)
    expect(page.get_by_role("img", name="Engine step: now median worker 21 ms, slowest worker 21 ms")).to_be_visible()
    expect(page.get_by_role("img", name="Live streams: now 3, at most 3")).to_be_visible()
    hour = times_of(page)
    assert 3 <= len(hour) <= 5
    assert all(re.fullmatch(r"\d\d:(00|15|30|45)", each) for each in hour)

    page.get_by_label("Time range").select_option(label="The last 24 hours")

    expect(page.get_by_role("img", name=re.compile("^Backlog: now 1 min, at most (23 h 59 min|24 h)$"))).to_be_visible()
    assert lines_of(speech) == 2
    assert len(times_of(page)) in (4, 5)
    assert all(each.endswith(":00") for each in times_of(page))
    assert faults(page) == []
    page.get_by_role("region", name="History").scroll_into_view_if_needed()
    shoot(page, "fleet-history")


def a_worker() -> ListedWorker:
    engine = EngineState(
        active_requests=3,
        waiting_requests=0,
        batch_fill=0.9,
        audio_s_per_s=40.0,
        step_ms=21.0,
        audio_s_total=1000.0,
        steps_total=100,
        restarts=0,
    )
    live = LiveAddress("ws://127.0.0.1:1", "secret", 8, 5, "r", streams=3)
    report = WorkerReport("gpu-0", WorkerRole.GPU, "host", 1, "0.2", 0, 4, GPU_QUEUE, "small", 4, engine, live=live)
    return ListedWorker(report, WorkerState.READY, 0)


def lines_of(drawing: Locator) -> int:
    """Each `M` begins a line; an outage divides it."""
    return (drawing.locator(".history-line").get_attribute("d") or "").count("M")


def times_of(page: Page) -> list[str]:
    return page.locator(".chart-times").first.locator("span").all_inner_texts()


@pytest.mark.parametrize(
    ("states", "why", "action"),
    [
        ([], "No worker speaks for this queue.", "Start one."),
        (["loading"], "The model is loading on gpu-0.", "Wait until the worker is ready."),
        (["draining"], "All workers are draining. They claim no new work.", 'Press "Resume" in the table of workers.'),
        (["full"], "All 4 slots are in use.", "More workers shorten the wait."),
        (["ready"], "Workers have room, but no janitor runs.", "Start the janitor."),
    ],
)
def test_a_queue_says_what_waits_since_when_why_and_what_to_do(
    open_at: OpenPage, api: ServedApi, shoot: Shoot, states: list[str], why: str, action: str
) -> None:
    job = api.submit(metadata={"title": "The one that waits"})
    start_job(api, 2)
    registry = WorkerRegistry(api.redis)
    for state in states:
        leases = 4 if state in ("full", "draining") else 0
        registry.report(replace(a_worker().report, leases=leases, is_loading=state == "loading"))
        if state == "draining":
            registry.drain("gpu-0")
        # It stays responsive for the whole test.
        api.redis.zadd("{rhapsode}:heard", {"gpu-0": (time.time() + 600) * 1000})
    page = open_at(api.url, "fleet")
    queue = page.locator(".queue", has=page.get_by_role("link", name="Show its narrations"))

    expect(queue.locator(".cause")).to_contain_text("1 narration with 1 passage")
    expect(queue.locator(".cause")).to_contain_text(re.compile(r"Since\d\d:\d\d \("))
    expect(queue.locator(".cause")).to_contain_text(why)
    expect(queue.locator(".cause")).to_contain_text(action)
    if not states:
        assert faults(page) == []
        shoot(page, "fleet-waiting")
    queue.get_by_role("link", name="Show its narrations").click()

    expect(page.get_by_text(f"Only narrations of the queue {GPU_QUEUE}.")).to_be_visible()
    expect(page.get_by_role("link", name="The one that waits")).to_have_attribute("href", f"#/jobs/{job['id']}")


def test_a_fleet_of_nobody_is_said_to_be_one(open_at: OpenPage, api: ServedApi, shoot: Shoot) -> None:
    api.submit()
    page = open_at(api.url, "fleet")

    expect(page.get_by_text("No worker has reported in the last minute.")).to_be_visible()
    expect(page.locator(".queue").first).to_contain_text("No worker plans texts and assembles files for this queue.")
    shoot(page, "fleet-nobody")


def test_claims_that_are_held_are_said_with_their_reason(open_at: OpenPage, api: ServedApi) -> None:
    guard = StateGuard(api.redis, api.objects, "rhapsode")
    guard.hold("Redis is empty")
    page = open_at(api.url, "fleet")
    held = page.get_by_text("Workers claim nothing: Redis is empty.")
    expect(held).to_be_visible()

    guard.release()

    expect(held).to_be_hidden()
