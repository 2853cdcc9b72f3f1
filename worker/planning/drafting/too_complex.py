"""The error for an input that took more time or memory than allowed."""

from __future__ import annotations

from worker.planning.drafting.limits import LIMITS

TOO_COMPLEX = (
    "input_too_complex",
    f"reading the input took more than {LIMITS.cpu_s} seconds of a processor or {LIMITS.memory_bytes >> 30} GiB of "
    "memory; divide it, or look for what repeats without end",
)
"""Code and detail."""
