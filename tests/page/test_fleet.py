"""The fleet as an operator uses it: who works, who shall stop, and what was given up."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime

from playwright.sync_api import Locator, Page, expect

from rhapsode.contract.operators.fleet import FleetMinute
from storage.jobs.record import JobError
from storage.queue.fleet_history import MINUTE_MS, FleetHistoryStore
from storage.recovery.state_guard import StateGuard
from tests.api.harness import ServedApi, start_job
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
    expect(page.get_by_role("button", name="Take up again: hooks-0")).to_be_focused()
    page.keyboard.press("Enter")
    expect(badge).to_have_text("Ready")


def test_what_was_given_up_is_tried_again_or_dropped(open_at: OpenPage, api: ServedApi, shoot: Shoot) -> None:
    dropped, retried = give_up(api, "It never <b>passed</b>."), give_up(api, "It was silent.")
    page = open_at(api.url, "fleet", reduced_motion="reduce")
    rows = page.get_by_role("region", name="Given up").get_by_role("listitem")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("It was silent.")
    expect(rows.last).to_contain_text("It never <b>passed</b>.")
    # Attempts at the speech and runs of the work are two things.
    expect(rows.first).to_contain_text("given up after 1 run by a worker")
    assert faults(page) == []
    shoot(page, "fleet-given-up")

    rows.first.get_by_role("button", name="Try again").click()
    expect(rows).to_have_count(1)
    rows.first.get_by_role("button", name="Drop").click()
    page.get_by_role("dialog").get_by_role("button", name="Drop it").click()

    expect(page.get_by_text("Nothing is left here.")).to_be_visible()
    assert api.http.get("/v1/admin/dlq").json()["data"] == []
    assert api.http.get(f"/v1/jobs/{retried}").json()["state"] == "pending"
    assert api.http.get(f"/v1/jobs/{dropped}").json()["state"] == "failed"


def test_how_the_fleet_was_is_drawn_with_its_axes(open_at: OpenPage, api: ServedApi, shoot: Shoot) -> None:
    history = FleetHistoryStore(api.redis, "rhapsode")
    now_ms = int(time.time() * 1000)
    for ago in range(120, 0, -1):
        at_ms = now_ms - now_ms % MINUTE_MS - ago * MINUTE_MS
        history.note(
            FleetMinute(
                at=datetime.fromtimestamp(at_ms / 1000, UTC),
                workers=2,
                audio_s_per_s=40.0 - ago / 10,
                batch_fill=0.9,
                step_ms_p50=20.0,
                step_ms_most=31.0,
                backlog_audio_s=60.0 * ago,
                unfinished_jobs=3,
                leases=4,
                oldest_wait_s=2.0,
                dead_letters=0,
            )
        )
    page = open_at(api.url, "fleet", reduced_motion="reduce")

    speech = page.get_by_role("img", name="Speech made: now 39.9, at most 39.9")
    expect(speech).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Backlog: now 1 min, at most (59 min|1 h)$"))).to_be_visible()
    assert len(speech.locator(".history-line").get_attribute("d") or "") > 60 * 8
    page.get_by_label("How far back").select_option(label="The last 6 hours")
    expect(page.get_by_role("img", name=re.compile("^Backlog: now 1 min, at most 2 h$"))).to_be_visible()
    assert faults(page) == []
    shoot(page, "fleet-history")


def test_a_fleet_of_nobody_is_said_to_be_one(open_at: OpenPage, api: ServedApi, shoot: Shoot) -> None:
    api.submit()
    page = open_at(api.url, "fleet")

    expect(page.get_by_text("No worker has reported in the last minute.")).to_be_visible()
    expect(page.locator(".queue").first).to_contain_text("no worker is ready to plan texts")
    shoot(page, "fleet-nobody")


def test_claims_that_are_held_are_said_with_their_reason(open_at: OpenPage, api: ServedApi) -> None:
    guard = StateGuard(api.redis, api.objects, "rhapsode")
    guard.hold("Redis is empty")
    page = open_at(api.url, "fleet")
    held = page.get_by_text("No worker is given anything: Redis is empty.")
    expect(held).to_be_visible()

    guard.release()

    expect(held).to_be_hidden()
