"""A job that stands still says why; of one that moves nothing is asked; one that ended is not cancelled."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from rich.console import Console

from rhapsode import Rhapsode
from rhapsode.cli.narrate.narrate import _cancel  # pyright: ignore[reportPrivateUsage]
from rhapsode.cli.narrate.progress import HELD, NO_READER, REDIS, STORE, Lines, StallReasons
from rhapsode.client.resources import Job
from tests.rhapsode import answers
from tests.rhapsode.conftest import ScriptedServer

READY = {"status": "ready", "redis": "ok", "store": "ok", "threads": "ok", "models": ["small"], "claims": "open"}
JOB = answers.job(
    id="job_01jd0000000000000000000000",
    state="running",
    phase="synthesizing",
    progress=answers.progress(total=4, done=1),
)
QUEUES = answers.answer("list_queues")
TOTALS = QUEUES["totals"]
CPU_QUEUE = QUEUES["data"][0] | {"name": "cpu", "lane": "cpu", "ready_items": 1, "slots": 0, "workers": 0}
CACHE = answers.answer("list_voice_caches")["data"][0] | {"voice": "voc_1", "model": "small", "mode": "x_vector"}


def job(**changes: object) -> Job:
    return Job.model_validate({**JOB, **changes})


def standing(script: ScriptedServer, stands: Job) -> str | None:
    """What is said at the second look at a job that has not moved since the first."""
    with Rhapsode(script.url) as client:
        seen = StallReasons(client, look_after_s=0)
        assert seen.of(stands) is None
        assert script.received == []
        return seen.of(stands)


@pytest.mark.parametrize(
    ("status", "changes", "sentence"),
    [
        (503, {"status": "unavailable", "store": "unavailable"}, STORE),
        (503, {"status": "unavailable", "redis": "unavailable", "claims": None}, REDIS),
        (200, {"claims": "held"}, HELD),
        (200, {}, None),
    ],
)
def test_what_the_server_lacks_is_said(
    script: ScriptedServer, status: int, changes: dict[str, object], sentence: str | None
) -> None:
    script.answer(status, READY | changes)

    assert standing(script, job()) == sentence


def test_that_no_worker_reads_texts_is_said_to_those_who_may_know(script: ScriptedServer) -> None:
    script.answer(200, READY)
    script.answer(200, {"data": [CPU_QUEUE], "totals": TOTALS})
    assert standing(script, job(state="pending", phase=None, progress=answers.progress())) == NO_READER


def test_a_caller_who_is_no_operator_is_told_nothing_and_asks_once(script: ScriptedServer) -> None:
    waiting = job(state="pending", phase=None, progress=answers.progress())
    refusal = {"title": "Not allowed", "status": 403, "detail": "no", "code": "forbidden"}
    for status, body in ((200, READY), (403, refusal), (200, READY)):
        script.answer(status, body)

    with Rhapsode(script.url) as client:
        seen = StallReasons(client, look_after_s=0)
        said = [seen.of(waiting), seen.of(waiting)]
        seen._look_at_s = 0.0  # pyright: ignore[reportPrivateUsage]
        said.append(seen.of(waiting))

    assert said == [None, None, None]
    assert [each.path for each in script.received] == ["/readyz", "/v1/admin/queues", "/readyz"]


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (200, {"data": [CACHE | {"state": "processing"}]}, "it waits for the voice Ada to be prepared"),
        (200, {"data": [CACHE | {"state": "ready"}]}, None),
        (410, {"title": "Gone", "status": 410, "detail": "deleted", "code": "gone"}, None),
    ],
)
def test_a_voice_that_is_being_prepared_is_waited_for(
    script: ScriptedServer, status: int, body: dict[str, object], sentence: str | None
) -> None:
    script.answer(200, READY)
    script.answer(200, {"data": [], "totals": TOTALS})
    script.answer(status, body)
    voice = {"id": "voc_1", "revision": 1, "mode": "x_vector", "ref_text": "", "if_cache_missing": "wait"}
    request = answers.request(model="small", voice="Ada", own_voice=voice)

    assert standing(script, job(phase="planning", progress=answers.progress(), request=request)) == sentence


def test_a_job_that_moves_on_is_not_hindered_any_more(script: ScriptedServer) -> None:
    script.answer(200, READY | {"claims": "held"})

    with Rhapsode(script.url) as client:
        seen = StallReasons(client, look_after_s=0)
        said = [seen.of(each) for each in (job(), job(), job(progress=answers.progress(total=4, done=2)))]

    assert said == [None, HELD, None]


def test_the_line_of_progress_says_it_at_once_and_first() -> None:
    written = io.StringIO()
    lines = Lines(Console(file=written, width=40))

    lines.show(job(), None)
    lines.show(job(), None, HELD)
    lines.show(job(), None, HELD)

    assert written.getvalue().splitlines() == [
        "speaking: 1/4 segments, 0:00 spoken",
        f"speaking: {HELD}, 1/4 segments, 0:00 spoken",
    ]


def test_a_job_that_waits_for_its_time_says_when_it_begins() -> None:
    written = io.StringIO()
    begins_at = datetime(2999, 1, 2, 3, 4, tzinfo=UTC)
    request = answers.request(not_before=begins_at.isoformat())

    Lines(Console(file=written)).show(
        job(state="pending", phase=None, progress=answers.progress(), request=request), None
    )

    assert written.getvalue() == f"queued: begins on {begins_at.astimezone():%b %d at %H:%M}\n"


def test_a_job_that_was_quicker_than_ctrl_c_is_told_of_and_no_conflict(script: ScriptedServer) -> None:
    conflict = {"title": "Conflict", "status": 409, "detail": "the job has ended", "code": "state_conflict"}
    script.answer(409, conflict)
    script.answer(200, JOB | {"state": "succeeded", "phase": None})
    written = io.StringIO()

    with Rhapsode(script.url) as client:
        _cancel(client, job, Console(file=written, width=200))

    assert written.getvalue() == "too late to cancel: job job_01jd0000000000000000000000 succeeded\n"
