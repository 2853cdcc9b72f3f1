"""The reason why a job makes no progress, in one sentence."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rhapsode.client.readiness import read_readiness
from rhapsode.contract.jobs.narration import ShownNarration
from rhapsode.errors import ApiError, Gone, NotFound

if TYPE_CHECKING:
    from rhapsode.client.resources import Job
    from rhapsode.client.sync.client import Rhapsode

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
