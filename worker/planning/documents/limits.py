"""What the process that reads one document may use."""

from __future__ import annotations

from storage.runtime.fork_server.limits import ChildLimits

LIMITS = ChildLimits(memory_bytes=2 << 30, cpu_s=120, output_bytes=256 << 20)
