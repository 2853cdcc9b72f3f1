"""What the process that drafts one plan may use."""

from __future__ import annotations

from storage.runtime.fork_server.limits import ChildLimits

LIMITS = ChildLimits(memory_bytes=2 << 30, cpu_s=20, output_bytes=256 << 20)
"""The longest text that a job takes needs seven seconds of a core."""

PATIENCE_S = 60.0
"""By the clock: for the same on a machine where many want its cores."""
