"""Progress of a job: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from rhapsode.cli.consoles import LINE_EVERY_S
from rhapsode.cli.formatting import clock, stage
from rhapsode.client.readiness import read_readiness
from rhapsode.client.resources import Job
from rhapsode.client.sync.client import Rhapsode
from rhapsode.contract.jobs.narration import ShownNarration
from rhapsode.errors import ApiError, Gone, NotFound

POLL_S = 0.3
SEGMENTS_ASKED = 1_000


class Chapters:
    """The current chapter of a job. It requests the segments once, when the text is planned."""

    def __init__(self, client: Rhapsode) -> None:
        self._client = client
        self._of_segment: list[int] | None = None

    def place(self, job: Job) -> str | None:
        """The chapter of the first unfinished segment; None for a job without chapters."""
        if job.kind == "voice_cache" or not job.progress.segments.total:
            return None
        if self._of_segment is None:
            segments = self._client.segments.list(job, page_size=SEGMENTS_ASKED)
            self._of_segment = [segment.chapter for segment in segments]
        count = max(self._of_segment, default=0) + 1
        if count == 1:
            return None
        here = self._of_segment[min(job.progress.segments.done, len(self._of_segment) - 1)]
        return f"chapter {here + 1}/{count}"


class Speed:
    """Audio seconds per wall second since the job was first seen running."""

    def __init__(self) -> None:
        self._started_s: float | None = None
        self._audio_before_s = 0.0

    def of(self, job: Job) -> float | None:
        """None before the first speech."""
        now = time.monotonic()
        if self._started_s is None and job.started_at is not None:
            self._started_s, self._audio_before_s = now, job.progress.audio_s_done
        made_s = job.progress.audio_s_done - self._audio_before_s
        if self._started_s is None or made_s <= 0 or now <= self._started_s:
            return None
        return made_s / (now - self._started_s)


class Bar:
    """A bar with segments, audio seconds, speed and remaining time."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task
        self._speed = Speed()

    def show(self, job: Job, chapter: str | None, stall_reason: str | None = None) -> None:
        segments = job.progress.segments
        self._progress.update(
            self._task,
            description=stage(job),
            total=segments.total or None,
            completed=segments.done,
            facts=" · ".join(_facts(job, chapter, self._speed.of(job), stall_reason)),
        )


class Lines:
    """For logs and pipes: a line for each change, at most one in five seconds, and one for each stage."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._speed = Speed()
        self._said_s = 0.0
        self._said: tuple[tuple[str, str | None], int] = (("", None), -1)

    def show(self, job: Job, chapter: str | None, stall_reason: str | None = None) -> None:
        speed = self._speed.of(job)
        now, news = time.monotonic(), ((stage(job), stall_reason), job.progress.segments.done)
        is_due = news[0] != self._said[0] or now - self._said_s >= LINE_EVERY_S
        if news != self._said and is_due:
            self._said_s, self._said = now, news
            facts = ", ".join(_facts(job, chapter, speed, stall_reason))
            self._console.print(": ".join(filter(None, (stage(job), facts))), markup=False, soft_wrap=True)


@contextmanager
def job_display(console: Console) -> Generator[Bar | Lines]:
    if not console.is_terminal:
        yield Lines(console)
        return
    # Facts take up to 60 columns (more for a book), the description and the spaces between 14.
    bar = BarColumn(max(6, min(28, console.width - 74)))
    columns = (SpinnerColumn(), TextColumn("{task.description:<10}"), bar, TextColumn("{task.fields[facts]}"))
    with Progress(*columns, console=console, transient=True) as progress:
        yield Bar(progress, progress.add_task("submitting", total=None, facts=""))


def follow(client: Rhapsode, job: Job, console: Console) -> Job:
    """Show the job's progress until its end. Returns the ended job."""
    with job_display(console) as display:
        chapters, stall_reasons = Chapters(client), StallReasons(client)
        display.show(job, None)
        while not job.state.is_terminal:
            time.sleep(POLL_S)
            job = client.job(job.id)
            display.show(job, chapters.place(job), stall_reasons.of(job))
    return job


def _facts(job: Job, chapter: str | None, speed: float | None, stall_reason: str | None) -> list[str]:
    """The facts to show now, most important first."""
    facts = [*filter(None, (stall_reason, chapter)), *_counts(job)]
    if begins_at := _begins_at(job):
        facts.append(f"begins on {begins_at.astimezone():%b %d at %H:%M}")
    if job.queue and job.queue.has_worker is False:
        facts.append("no worker takes work for this model")
    if job.state == "pending" and job.queue and job.queue.ahead_audio_s:
        facts.append(f"{clock(job.queue.ahead_audio_s)} of speech ahead")
    if speed:
        facts.append(f"{speed:.1f}x real time")
    if job.progress.eta_s is not None and job.phase == "synthesizing":
        facts.append(f"{clock(job.progress.eta_s)} left")
    return facts


def _begins_at(job: Job) -> datetime | None:
    """The future start time of a job that has one."""
    begins_at = job.request.not_before if isinstance(job.request, ShownNarration) else None
    is_ahead = begins_at is not None and job.state == "pending" and begins_at > datetime.now(UTC)
    return begins_at if is_ahead else None


def _counts(job: Job) -> list[str]:
    """Finished parts and their total; empty before the plan."""
    segments = job.progress.segments
    if not segments.total:
        return []
    if job.kind == "voice_cache":
        failed = [f"{segments.failed} failed"] if segments.failed else []
        return [f"{segments.done}/{segments.total} voices", *failed]
    at_once = f" ({segments.running} at once)" if segments.running and not segments.done else ""
    return [f"{segments.done}/{segments.total} segments{at_once}", f"{clock(job.progress.audio_s_done)} spoken"]


LOOK_AFTER_S = 3.0
"""Request the reason after this time without progress. A slow machine needs as long for a segment."""

LOOK_EVERY_S = 5.0

STORE = "the store refuses writes (its disk is full, or it does not answer); the job continues when it accepts them"
REDIS = "Redis does not answer; the job continues when it does"
HELD = "workers get no work until an operator acts: `rhapsode queues` says why"
NO_READER = "no worker that reads texts and joins files is running"


class StallReasons:
    """Of one job."""

    def __init__(self, client: Rhapsode, look_after_s: float = LOOK_AFTER_S) -> None:
        self._client = client
        self._look_after_s = look_after_s
        self._moved = ""
        self._look_at_s = 0.0
        self._sentence: str | None = None
        self._may_see_queues = True

    def of(self, job: Job) -> str | None:
        """None during progress, and for an unknown reason."""
        segments, now_s = job.progress.segments, time.monotonic()
        moved = f"{job.state} {job.phase} {segments.done} {segments.failed}"
        if moved != self._moved:
            self._moved, self._look_at_s, self._sentence = moved, now_s + self._look_after_s, None
        elif now_s >= self._look_at_s and not job.state.is_terminal:
            self._look_at_s, self._sentence = now_s + LOOK_EVERY_S, self._found(job)
        return self._sentence

    def _found(self, job: Job) -> str | None:
        readiness = read_readiness(self._client.server_url)
        if readiness is not None and readiness.redis != "ok":
            return REDIS
        if readiness is not None and readiness.store != "ok":
            return STORE
        if readiness is not None and readiness.claims == "held":
            return HELD
        if job.phase != "synthesizing" and self._has_no_reader():
            return NO_READER
        return self._awaited_voice(job)

    def _has_no_reader(self) -> bool:
        """False also for a caller who is not an operator."""
        if not self._may_see_queues:
            return False
        try:
            queues = self._client.operations.queues().data
        except ApiError:
            self._may_see_queues = False
            return False
        return any(queue.lane == "cpu" and queue.ready_items and not queue.workers for queue in queues)

    def _awaited_voice(self, job: Job) -> str | None:
        """A job may wait for a voice that another job prepares."""
        request = job.request
        if not isinstance(request, ShownNarration) or not request.own_voice or not request.own_voice.id:
            return None
        try:
            caches = self._client.voices.caches(request.own_voice.id)
        except (NotFound, Gone):
            # The voice was deleted. The job itself reports that.
            return None
        model = [cache for cache in caches if cache.model == request.model]
        if any(cache.state in ("pending", "processing") for cache in model):
            return f"it waits for the voice {request.voice} to be prepared"
        return None
