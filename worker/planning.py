"""The plan item: from the stored text to the list of segments."""

from __future__ import annotations

import logging

from storage import keys
from storage.artifacts import ArtifactStore
from storage.errors import ArtifactMissing
from storage.estimates import MAX_AUDIO_MS, expected_audio_ms
from storage.failpoints import failpoint
from storage.jobs import ClaimedItem, PlanResult, Tickets
from storage.plan import Plan, encode_plan
from storage.voice_reference import IfCacheMissing
from worker.errors import unusable
from worker.leases import HeldLease
from worker.persistence import put_fenced, until_available
from worker.segmentation import NothingToSpeak, plan_segments
from worker.services import WorkerServices
from worker.voice_items import wait_for_voice

logger = logging.getLogger(__name__)


def run_plan(item: ClaimedItem, held: HeldLease, services: WorkerServices) -> Tickets:
    """Segment the job's text, store the plan, open the job's window; returns the tickets to send.

    The text is read once in a job's life, so unlike the plan it is not cached.
    """
    voice = item.narration.own_voice
    if voice is not None and voice.if_missing is IfCacheMissing.WAIT:
        wait_for_voice(voice, held, services)
    text = until_available(lambda: _input_text(item.input_key, services.artifacts), held)
    try:
        segments = plan_segments(text, item.narration.segmentation, item.narration.pauses)
    except NothingToSpeak as error:
        raise unusable("invalid_request", str(error)) from error
    audio_ms = expected_audio_ms(text)
    _refuse_endless(audio_ms + round(1000 * sum(segment.pause_after_s for segment in segments)))
    key = keys.plan(item.lease)
    put_fenced(services.artifacts, key, encode_plan(Plan(segments)), held)
    failpoint("plan.after_put")
    result = PlanResult(key, len(segments), audio_ms)
    tickets = until_available(lambda: services.jobs.commit_plan(item.lease, result), held)
    failpoint("plan.before_tickets")
    logger.info("job planned", extra={"segments": len(segments), "chars": len(text)})
    return tickets


def _refuse_endless(expected_ms: int) -> None:
    """The API has looked at the speech; how many pauses there are is known only now."""
    if expected_ms > MAX_AUDIO_MS:
        limit_h = MAX_AUDIO_MS / 3_600_000
        detail = (
            f"speech and pauses would last about {expected_ms / 3_600_000:.1f} hours; a job has at most {limit_h:.0f}"
        )
        raise unusable("text_too_long", detail)


def _input_text(key: str, artifacts: ArtifactStore) -> str:
    try:
        return artifacts.get(key).decode()
    except ArtifactMissing as error:
        raise unusable("internal", "the job's text is not in the store any more") from error
    except UnicodeDecodeError as error:
        raise unusable("internal", f"the job's text in the store is not UTF-8: {error}") from error
