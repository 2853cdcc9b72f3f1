"""A stack's events as sentences, and its start with a spinner."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, assert_never

from rich.console import Console

from rhapsode.cli.formatting import span
from rhapsode.cli.local.plan_table import machine_line, plan_lines
from rhapsode.cli.local.requirements import require_stack_packages
from rhapsode.stack import events
from rhapsode.stack.options import StackOptions

if TYPE_CHECKING:
    from pathlib import Path

    from rich.status import Status

    from rhapsode.stack.planning.plan import StackPlan
    from rhapsode.stack.stack import Stack


class Narrator:
    """The observer of a stack. During the start, a spinner shows what it waits for."""

    def __init__(self, console: Console, spinner: Status) -> None:
        self._console = console
        self._spinner = spinner
        self.ready: events.StackReady | None = None

    def __call__(self, event: events.StackEvent) -> None:
        match event:
            case events.ProcessesPlanned(plan):
                self._show(plan)
            case events.WaitingFor(what):
                self._wait(what)
            case events.StackReady():
                self.ready = event
            case events.ProcessEnded(name, status, said, restart_s, log):
                reason = f": {said}" if said else ""
                self.say(f"{name} {status}{reason}; starting it again in {restart_s:g} s (log: {log})")
            case events.ProcessRestarted(name, pid):
                self.say(f"{name} runs again (process {pid})")
            case events.OrphansEnded(names):
                self.say(f"ended processes that a killed stack had left: {', '.join(names)}")
            case events.Stopping(names):
                self.say(f"stopping {' and '.join(names)}")
            case events.ProcessKilled(name, grace_s):
                self.say(f"{name} did not end within {grace_s:g} s and was killed")
            case events.StateUnwritten(file, reason):
                self.say(f"{file} cannot be written: {reason}; other commands may not find the server")
            case _:
                assert_never(event)

    def _show(self, plan: StackPlan) -> None:
        head = f"This machine has {machine_line(plan.machine)}. It starts:"
        self.say("\n  ".join((head, *plan_lines(plan))))

    def _wait(self, what: str) -> None:
        self._spinner.update(f"starting: waiting for {what}")
        if not self._console.is_terminal:
            self.say(f"waiting for {what}")

    def say(self, sentence: str) -> None:
        self._console.print(sentence, markup=False, highlight=False, soft_wrap=True)


class DurationNarrator(Narrator):
    """For the stack of one command: it prints the start, and not the end."""

    def __init__(self, console: Console, spinner: Status, data_dir: Path) -> None:
        super().__init__(console, spinner)
        self._data_dir = data_dir
        self._began_s = time.monotonic()

    def __call__(self, event: events.StackEvent) -> None:
        match event:
            case events.ProcessesPlanned():
                """The plan is the same for every command."""
            case events.StackReady(url, model, _):
                took = span(time.monotonic() - self._began_s)
                self.say(f"no server was running: started one on {self._data_dir} in {took} ({url}, model {model})")
            case events.Stopping(names):
                self._spinner.update(f"stopping {' and '.join(names)}")
            case _:
                super().__call__(event)


@contextmanager
def own_stack(options: StackOptions, environ: Mapping[str, str], console: Console) -> Generator[Stack]:
    """A ready stack for the duration of a command."""
    require_stack_packages()
    from rhapsode.stack.stack import Stack

    spinner = console.status("starting")
    observer = DurationNarrator(console, spinner, options.data_dir)
    # Closed in reverse order: the spinner turns until the last process ends.
    with ExitStack() as until_gone, Stack(options, environ, observer) as stack:
        with spinner:
            stack.wait_ready()
        try:
            yield stack
        finally:
            spinner.update("stopping")
            until_gone.enter_context(spinner)
