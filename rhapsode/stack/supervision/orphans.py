"""Ending what a killed supervisor left running, where the kernel did not do it or it takes its time."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress

from rhapsode.stack.state_file import ProcessRecord

GRACE_S = 3.0
"""Short, because their Valkey is often gone and nothing they still could do is needed: whatever they held is taken
back by name when their successors start."""


def end_orphans(records: Sequence[ProcessRecord]) -> tuple[ProcessRecord, ...]:
    """SIGTERM, then SIGKILL, to those that still are the processes recorded; returns these."""
    orphans = tuple(record for record in records if record.is_alive())
    _signal(orphans, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while time.monotonic() < deadline and any(record.is_alive() for record in orphans):
        time.sleep(0.05)
    _signal(tuple(record for record in orphans if record.is_alive()), signal.SIGKILL)
    while any(record.is_alive() for record in orphans):
        time.sleep(0.02)
    return orphans


def _signal(records: Sequence[ProcessRecord], signum: signal.Signals) -> None:
    for record in records:
        # Each leads its own session, so its group holds what it started and nothing else.
        with suppress(ProcessLookupError):
            os.killpg(record.pid, signum)
