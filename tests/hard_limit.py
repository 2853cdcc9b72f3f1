"""A pytest plugin: a process whose test has not ended a while after its time limit dumps all stacks and exits.

pytest-timeout raises once, in the main thread. A test that waits on in a `finally`, in a fixture's end or in C code
would hold up the whole run. pytest-xdist reports the test of a process that exits as failed, and replaces the process.
"""

from __future__ import annotations

import faulthandler
import os
import threading
from collections.abc import Generator
from typing import TextIO

import pytest
from pytest_timeout import Settings, is_debugging

from tests.process_tree import described_below

GRACE_S = 60.0
"""From a test's time limit until its process exits."""

EXIT_S = 60.0
"""From the end of pytest until its process is gone."""

BACKSTOP_S = 10.0
"""What holds Python's lock lets no thread of ours run: faulthandler's thread in C exits this much later."""


class HardLimit:
    def __init__(self, stderr: TextIO) -> None:
        self._stderr = stderr
        self._timer: threading.Timer | None = None

    @pytest.hookimpl(wrapper=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Settings) -> Generator[None, object, object]:
        limit_s = settings.timeout + GRACE_S
        self._timer = threading.Timer(limit_s, self._exit, (item.nodeid, limit_s))
        self._timer.daemon = True
        self._timer.start()
        faulthandler.dump_traceback_later(limit_s + BACKSTOP_S, exit=True, file=self._stderr)
        return (yield)

    # Not where pytest-timeout cancels its alarm: it does so at a failure, before fixtures end.
    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()
            if self._timer is not None:
                self._timer.cancel()

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        # Python waits without a limit for a test's thread that still runs. A worker is ended by pytest-xdist.
        if not hasattr(config, "workerinput"):
            faulthandler.dump_traceback_later(EXIT_S, exit=True, file=self._stderr)

    def _exit(self, test: str, limit_s: float) -> None:
        if is_debugging():
            return
        print(f"\n{test} has not ended {limit_s:g} s after it began. Its process exits.", file=self._stderr, flush=True)
        faulthandler.dump_traceback(self._stderr, all_threads=True)
        print(f"Processes below it:\n{described_below(os.getpid())}", file=self._stderr, flush=True)
        os._exit(1)


def pytest_configure(config: pytest.Config) -> None:
    # While a test runs, pytest captures what is written to the descriptor itself.
    config.pluginmanager.register(HardLimit(os.fdopen(os.dup(2), "w")))
