"""The states of a job and their moves, its class, and who has to act on its failure. Pure.

`MOVES` is the one table of allowed state changes: the Lua scripts receive it, the tests walk it.
"""

from __future__ import annotations

from rhapsode.contract.jobs.states import JobClass, JobPhase, JobState, Priority

CALLERS_FAULTS = frozenset(
    {
        *("document_without_text", "input_too_complex", "invalid_request", "name_taken", "not_found", "quota_exceeded"),
        *("text_too_long", "unsupported_language", "unsupported_media"),
        *("voice_cache_not_ready", "voice_cache_stale", "voice_not_found"),
    }
)
"""Of a job that fails for what its caller gave or asked for: the job says so, and no operator is called."""


INTERACTIVE_AUDIO_MS = 30_000
"""A job of normal priority with at most this much expected audio is interactive."""


def job_class(priority: Priority, estimated_audio_ms: int) -> JobClass:
    if priority is Priority.HIGH:
        return JobClass.INTERACTIVE
    if priority is Priority.LOW or estimated_audio_ms > INTERACTIVE_AUDIO_MS:
        return JobClass.BULK
    return JobClass.INTERACTIVE


MOVES: dict[JobState, frozenset[JobState]] = {
    JobState.PENDING: frozenset(
        {JobState.RUNNING, JobState.PAUSED, JobState.CANCELLED, JobState.FAILED, JobState.EXPIRED}
    ),
    JobState.RUNNING: frozenset(
        {JobState.PAUSED, JobState.CANCELLING, JobState.CANCELLED, JobState.SUCCEEDED, JobState.FAILED}
    ),
    JobState.PAUSED: frozenset(
        {JobState.PENDING, JobState.RUNNING, JobState.CANCELLED, JobState.CANCELLING, JobState.FAILED, JobState.EXPIRED}
    ),
    JobState.CANCELLING: frozenset({JobState.CANCELLED}),
    JobState.SUCCEEDED: frozenset({JobState.PENDING}),
    JobState.FAILED: frozenset({JobState.PENDING}),
    JobState.CANCELLED: frozenset({JobState.PENDING}),
    JobState.EXPIRED: frozenset({JobState.PENDING}),
}

_DELIVERING = "delivering"
"""A phase of releases before, behind the assembly."""


def stored_phase(text: str) -> JobPhase:
    """Of a record or an event, which may be of a release before."""
    return JobPhase.ASSEMBLING if text == _DELIVERING else JobPhase(text)
