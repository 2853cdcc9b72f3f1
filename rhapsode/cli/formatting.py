"""Durations, numbers and states as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rhapsode.client.resources import Job
    from rhapsode.contract.jobs.quality import JobWarning


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours when there are any: 0:07, 12:34, 1:02:03."""
    whole = max(0, round(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def span(seconds: float) -> str:
    """A duration: 8.4 s, 2 min 31 s, 1 h 2 min."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole // 60 % 60} min"


def counted(number: int, noun: str) -> str:
    """A number and a noun with a regular plural: 1 segment, 2,400 segments."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def stage(job: Job) -> str:
    """The job's current work in one word."""
    if job.state == "running" and job.phase:
        synthesizing = "preparing" if job.kind == "voice_cache" else "speaking"
        return {"synthesizing": synthesizing, "assembling": "joining"}.get(job.phase, job.phase)
    return "queued" if job.state == "pending" else str(job.state)


def warned(warning: JobWarning) -> str:
    """A warning in one line, with its segment."""
    is_placed = warning.segment is None or warning.detail.startswith(("segment ", "seg_"))
    place = "" if is_placed else f"segment {warning.segment}: "
    return f"warning: {place}{warning.detail} ({warning.code})"
