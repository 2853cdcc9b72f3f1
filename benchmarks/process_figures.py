"""What another process has used so far, as Linux tells it in /proc."""

from __future__ import annotations

import os
from pathlib import Path


def cpu_s(pid: int) -> float:
    """User and system time of all its threads, also those that have ended, in steps of a clock tick (10 ms)."""
    # The name in brackets may itself hold brackets and spaces.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def has_ended(pid: int) -> bool:
    """Also if nobody has asked yet how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def memory_kib(pid: int) -> int:
    """What it has in memory now."""
    return _status_kib(pid, "VmRSS")


def peak_memory_kib(pid: int) -> int:
    """The most it had in memory since it started."""
    return _status_kib(pid, "VmHWM")


def _status_kib(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])
