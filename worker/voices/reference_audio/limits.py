"""What the process that decodes one recording may use."""

from __future__ import annotations

from storage.runtime.fork_server.limits import ChildLimits

LIMITS = ChildLimits(memory_bytes=1 << 30, cpu_s=20, output_bytes=64 << 20)
"""The output is at most a minute of samples at the highest rate."""
