"""Telling a process from a later one that got the same id: the moment it started, as the kernel knows it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def start_mark(pid: int) -> str | None:
    """A text that no other process of this id will have; None if there is none now, or only its remains."""
    if sys.platform == "linux":
        return _mark_from_proc(Path(f"/proc/{pid}/stat"))
    outcome = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)],  # wherever the system keeps ps
        capture_output=True,
        text=True,
        check=False,
    )
    state, _, started = outcome.stdout.strip().partition(" ")
    return started.strip() or None if not state.startswith("Z") else None


def _mark_from_proc(stat: Path) -> str | None:
    try:
        # The name in brackets may itself hold brackets and spaces.
        fields = stat.read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, started_ticks = fields[0], fields[19]
    return None if state in "ZX" else f"{boot}/{started_ticks}"
