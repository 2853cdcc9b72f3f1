"""The cores that this process may use: by its affinity, and by what its container may take of them."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def usable_cores(cgroup: Path = CGROUP) -> int:
    """How many cores this process may keep busy at a time."""
    there = len(core_numbers())
    limit = _limit(cgroup)
    return there if limit is None else max(1, min(there, math.ceil(limit)))


def core_numbers() -> set[int]:
    """The cores that this process may be scheduled on, as the system numbers them."""
    if sys.platform == "linux":
        return os.sched_getaffinity(0)  # noqa: TID251
    return set(range(os.cpu_count() or 1))  # noqa: TID251


def read_system_file(file: Path) -> str:
    """What the kernel says there; empty where it has no such file."""
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _limit(cgroup: Path) -> float | None:
    """The cores' worth of time that this container may take; None: no limit."""
    limit, _, period = read_system_file(cgroup / "cpu.max").partition(" ")
    if not limit:
        limit = read_system_file(cgroup / "cpu" / "cpu.cfs_quota_us")
        period = read_system_file(cgroup / "cpu" / "cpu.cfs_period_us")
    return int(limit) / int(period) if limit.isdecimal() and period.isdecimal() else None
