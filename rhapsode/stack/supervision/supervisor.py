"""Keeps processes running: starts them again with a growing delay, and ends them in order.

Knows nothing of what the processes do. One thread calls everything here, see `launcher`.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

from rhapsode.stack.errors import StackStartFailed
from rhapsode.stack.events import Observer, ProcessEnded, ProcessKilled, ProcessRestarted, Stopping
from rhapsode.stack.state_file import ProcessRecord
from rhapsode.stack.supervision.child import SupervisedChild

FAILURES_OF_A_START = 2
"""A process that ends this often before everything is ready, or once with status 2, will not get better by trying."""

ORPHAN_GRACE_S = 3.0
"""Short, because their Valkey is often gone and nothing they still could do is needed: whatever they held is taken
back by name when their successors start."""


class Supervisor:
    """on_change: notes which processes there are; False where it could not, and it is called at the next look again."""

    def __init__(self, observer: Observer, on_change: Callable[[tuple[ProcessRecord, ...]], bool]) -> None:
        self._children: dict[str, SupervisedChild] = {}
        self._ends_at_start: Counter[str] = Counter()
        self._observer = observer
        self._on_change = on_change
        self._is_noted = True

    def start(self, children: Sequence[SupervisedChild]) -> None:
        for child in children:
            child.start()
            self._children[child.spec.name] = child
        self.announce()

    def pid(self, name: str) -> int | None:
        """None while it is not running."""
        return self._children[name].pid

    def watch_start(self) -> None:
        """One look while the stack starts. Raises `StackStartFailed` for a process that will not stay."""
        for child, status in self._ended():
            # However long it ran: on a slow machine a process takes a while to find out that it cannot start.
            self._ends_at_start[child.spec.name] += 1
            if status == 2 or self._ends_at_start[child.spec.name] >= FAILURES_OF_A_START:
                raise StackStartFailed(child.spec.name, _spoken(status), child.last_words(), child.log)
        self._restart_due()

    def watch(self) -> None:
        """One look while the stack runs: whatever has ended is started again when it is due."""
        for child, status in self._ended():
            said = child.last_words() if status > 0 else ""
            self._observer(ProcessEnded(child.spec.name, _spoken(status), said, child.restart_delay_s(), child.log))
        self._restart_due()

    def stop(self, order: Sequence[Sequence[str]], is_hurried: Callable[[], bool]) -> None:
        """End everything, group after group. Once `is_hurried` says so, by SIGKILL."""
        for group in order:
            children = [self._children[name] for name in group if name in self._children]
            running = [child for child in children if child.is_running()]
            if running and not is_hurried():
                self._observer(Stopping(tuple(child.spec.name for child in running)))
                self._end(running, is_hurried)
            for child in children:
                child.kill()
        self.announce()

    def _end(self, children: Sequence[SupervisedChild], is_hurried: Callable[[], bool]) -> None:
        for child in children:
            child.terminate()
        asked_s = time.monotonic()
        while not is_hurried():
            running = [child for child in children if child.is_running()]
            late = [child for child in running if time.monotonic() - asked_s > child.spec.grace_s]
            for child in late:
                self._observer(ProcessKilled(child.spec.name, child.spec.grace_s))
                child.kill()
            if len(late) == len(running):
                return
            time.sleep(0.02)

    def _ended(self) -> list[tuple[SupervisedChild, int]]:
        return [(child, status) for child in self._children.values() if (status := child.exit_status()) is not None]

    def _restart_due(self) -> None:
        for child in self._children.values():
            if child.is_due():
                child.start()
                self.announce()
                self._observer(ProcessRestarted(child.spec.name, child.pid or 0))
        if not self._is_noted:
            self.announce()

    def announce(self) -> None:
        """Tell who is interested which processes there are."""
        self._is_noted = self._on_change(tuple(child.record for child in self._children.values() if child.record))


def _spoken(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def end_orphans(records: Sequence[ProcessRecord]) -> tuple[ProcessRecord, ...]:
    """End what a killed supervisor left running: SIGTERM, then SIGKILL, to those that still are the processes recorded.

    Returns these. The kernel does it in some cases, and may take its time.
    """
    orphans = tuple(record for record in records if record.is_alive())
    _signal(orphans, signal.SIGTERM)
    deadline = time.monotonic() + ORPHAN_GRACE_S
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
