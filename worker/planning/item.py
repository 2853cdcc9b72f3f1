"""The plan item: from the stored input to the list of segments."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from storage.jobs.tickets import Tickets
from storage.jobs.work_items import ClaimedItem, PlanResult
from storage.narration.estimates import MAX_AUDIO_MS, expected_audio_ms
from storage.narration.first_words import first_words
from storage.narration.script.script import Script
from storage.narration.sources import Source, SourceType
from storage.narration.spec import NarrationSpec
from storage.narration.voice_reference import IfCacheMissing
from storage.objects import keys
from storage.runtime.config.failpoints import failpoint
from storage.segments.plan import Plan, encode_plan
from worker.errors import unusable
from worker.leases.keeper import HeldLease
from worker.leases.persistence import put_fenced, until_available
from worker.planning.languages import refuse_foreign_text
from worker.planning.plan_warnings import plan_warnings
from worker.planning.preview import finish_preview
from worker.planning.respelling import respell_script
from worker.planning.script_reading import read_script
from worker.planning.voice_waiting import wait_for_voice
from worker.services import WorkerServices
from worker.speech.text.segmentation import NothingToSpeak, segment_script

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Planned:
    script: Script
    plan: Plan
    speech_ms: int


def run_plan(item: ClaimedItem, held: HeldLease, services: WorkerServices) -> Tickets:
    """Segment the job's input, store the plan, open the job's window; returns the tickets to send.

    The input is read once in a job's life, so unlike the plan it is not cached.
    """
    _wait_for_voices(item.narration, held, services)
    planned = _planned(item, held, services)
    if item.narration.validate_only:
        return finish_preview(item, planned.script, planned.plan, held, services)
    script_bytes = _store_script(planned, item, held, services)
    key, data = keys.plan(item.lease), encode_plan(planned.plan)
    put_fenced(services.artifacts, key, data, held)
    failpoint("plan.after_put")
    result = PlanResult(
        plan_key=key,
        num_segments=len(planned.plan.segments),
        estimated_audio_ms=planned.speech_ms,
        input_chars=len(planned.script.text),
        stored_bytes=script_bytes + len(data),
        warnings=plan_warnings(planned.plan.segments, item.narration),
        first_words=first_words(planned.script.text),
    )
    tickets = until_available(lambda: services.jobs.commit_plan(item.lease, result), held)
    failpoint("plan.before_tickets")
    logger.info("job planned", extra={"segments": result.num_segments, "chars": len(planned.script.text)})
    return tickets


def _planned(item: ClaimedItem, held: HeldLease, services: WorkerServices) -> _Planned:
    spec = item.narration
    script = respell_script(read_script(item, held, services.artifacts), item, held, services.artifacts)
    try:
        segmented = segment_script(script, spec.segmentation, spec.pauses)
    except NothingToSpeak as error:
        raise unusable("invalid_request", str(error)) from error
    refuse_foreign_text(segmented.segments, spec)
    speech_ms = sum(expected_audio_ms(segment.text) for segment in segmented.segments)
    _refuse_endless(speech_ms + round(1000 * sum(segment.pause_after_s for segment in segmented.segments)))
    plan = Plan(
        segments=segmented.segments,
        chapters=segmented.chapters,
        title=script.title,
        author=script.author,
        language=script.language,
        cover_key=None if script.cover is None else keys.plan_cover(item.lease),
        text_key=None if _is_plain(spec.source) else keys.plan_text(item.lease),
    )
    return _Planned(script, plan, speech_ms)


def _is_plain(source: Source) -> bool:
    """Whether the stored input is the very text that is planned."""
    return source.type is SourceType.TEXT


def _store_script(planned: _Planned, item: ClaimedItem, held: HeldLease, services: WorkerServices) -> int:
    """What the plan refers to, before the plan; returns its bytes."""
    plan, script = planned.plan, planned.script
    parts = ((plan.text_key, script.text.encode()), (plan.cover_key, script.cover))
    num_bytes = 0
    for key, data in parts:
        if key is not None and data is not None:
            put_fenced(services.artifacts, key, data, held)
            num_bytes += len(data)
    return num_bytes


def _wait_for_voices(spec: NarrationSpec, held: HeldLease, services: WorkerServices) -> None:
    for voice in (spec.own_voice, *(member.own_voice for member in spec.speakers)):
        if voice is not None and voice.if_missing is IfCacheMissing.WAIT:
            wait_for_voice(voice, held, services)


def _refuse_endless(expected_ms: int) -> None:
    """The API has looked at the speech where it could; how many pauses there are is known only now."""
    if expected_ms > MAX_AUDIO_MS:
        limit_h = MAX_AUDIO_MS / 3_600_000
        detail = (
            f"speech and pauses would last about {expected_ms / 3_600_000:.1f} hours; a job has at most {limit_h:.0f}"
        )
        raise unusable("text_too_long", detail)
