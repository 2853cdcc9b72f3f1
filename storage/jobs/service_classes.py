"""How urgent a job is: what its owner asks for, and the class that it is served in. Pure."""

from __future__ import annotations

from rhapsode.contract.jobs.states import JobClass, Priority

INTERACTIVE_AUDIO_MS = 30_000
"""A job of normal priority with at most this much expected audio is interactive."""


def job_class(priority: Priority, estimated_audio_ms: int) -> JobClass:
    if priority is Priority.HIGH:
        return JobClass.INTERACTIVE
    if priority is Priority.LOW or estimated_audio_ms > INTERACTIVE_AUDIO_MS:
        return JobClass.BULK
    return JobClass.INTERACTIVE
