"""What the process that drafts one plan may use, and the error for an input that needs more."""

from __future__ import annotations

from storage.runtime.fork_server.limits import ChildLimits

LIMITS = ChildLimits(memory_bytes=2 << 30, cpu_s=20, output_bytes=256 << 20)
"""The longest text that a job takes needs seven seconds of a core."""

PATIENCE_S = 60.0
"""By the clock: for the same on a machine where many want its cores."""

TOO_COMPLEX = (
    "input_too_complex",
    f"reading the input took more than {LIMITS.cpu_s} seconds of a processor or {LIMITS.memory_bytes >> 30} GiB of "
    "memory; divide it, or look for what repeats without end",
)
"""Code and detail."""
