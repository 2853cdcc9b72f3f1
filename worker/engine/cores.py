"""How much of the machine this process may use."""

from __future__ import annotations

import os
import sys


def usable_cores() -> int:
    """Those the process may be scheduled on, where the system says."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
