"""What `rhapsode up` says of its stack: sentences for who started it, or lines of a log for who collects them."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, assert_never

import typer

from rhapsode.cli.consoles import VisibleConsole
from rhapsode.cli.failures import FAILED
from rhapsode.cli.formatting import span
from rhapsode.cli.local.plan_table import machine_line, plan_facts
from rhapsode.cli.local.stack_display import Narrator
from rhapsode.stack.errors import StackError
from rhapsode.stack.events import (
    OrphansEnded,
    ProcessEnded,
    ProcessesPlanned,
    ProcessKilled,
    ProcessRestarted,
    StackEvent,
    StackReady,
    StateUnwritten,
    Stopping,
    WaitingFor,
)
from rhapsode.stack.layout import DataDir, default_data_dir
from storage.runtime.observability.logs import configure_logging

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

logger = logging.getLogger(__name__)


class UpDisplay(Protocol):
    """The observer of a stack, and what stands around it."""

    ready: StackReady | None

    def __call__(self, event: StackEvent) -> None: ...

    def starting(self) -> AbstractContextManager[object]:
        """Open until the stack is ready."""
        ...

    def greet(self, ready: StackReady, folder: DataDir, seconds: float) -> None: ...

    def say_stopped(self) -> None: ...

    def failures(self) -> AbstractContextManager[None]:
        """Open for the whole run: says why there is no stack, in its own way or not at all."""
        ...


class UpSentences(Narrator):
    """On standard error, with a spinner if that is a terminal."""

    def __init__(self) -> None:
        console = VisibleConsole(stderr=True)
        super().__init__(console, console.status("starting"))

    def starting(self) -> AbstractContextManager[object]:
        return self._spinner

    def greet(self, ready: StackReady, folder: DataDir, seconds: float) -> None:
        where = "" if folder.root == default_data_dir(os.environ) else f" --server {ready.url}"
        lines = [
            f"Rhapsode is ready after {span(seconds)} at {ready.url}",
            f"  model      {ready.model}",
            f"  page       {ready.url}/",
            f"  API        {ready.url}/openapi.json",
            f"  data       {folder.root}",
            f"  logs       {folder.logs}",
            f"  try        rhapsode narrate FILE{where}",
        ]
        if ready.notice:
            lines.insert(2, f"             {ready.notice}")
        self._say("\n".join(lines))
        self._say("Ctrl-C stops it; unfinished jobs continue at the next start.")

    def say_stopped(self) -> None:
        self._say("stopped")

    @contextmanager
    def failures(self) -> Generator[None]:
        yield


class UpLog:
    """The same as events, in lines like those of the processes that it starts."""

    def __init__(self) -> None:
        configure_logging("json", process={"role": "up"})
        self.ready: StackReady | None = None

    def __call__(self, event: StackEvent) -> None:
        match event:
            case ProcessesPlanned(plan):
                fields = {"machine": machine_line(plan.machine), "processes": plan_facts(plan)}
                logger.info("planned", extra=fields | {"reasons": dict(plan.reasons)})
            case WaitingFor(what):
                logger.info("waiting", extra={"waiting_for": what})
            case StackReady():
                self.ready = event
            case ProcessEnded(name, status, restart_s, log):
                fields = {"process_name": name, "status": status, "restart_s": restart_s, "log": str(log)}
                logger.warning("process ended", extra=fields)
            case ProcessRestarted(name, pid):
                logger.info("process runs again", extra={"process_name": name, "process_id": pid})
            case OrphansEnded(names):
                logger.warning("ended what a killed stack had left", extra={"process_names": names})
            case Stopping(names):
                logger.info("stopping", extra={"process_names": names})
            case ProcessKilled(name, grace_s):
                logger.warning("process killed", extra={"process_name": name, "grace_s": grace_s})
            case StateUnwritten(file, reason):
                logger.error("state not written", extra={"file": str(file), "error": reason})
            case _:
                assert_never(event)

    @contextmanager
    def starting(self) -> Generator[None]:
        yield

    def greet(self, ready: StackReady, folder: DataDir, seconds: float) -> None:
        fields = {"url": ready.url, "model": ready.model, "after_s": round(seconds, 1), "notice": ready.notice}
        folders: dict[str, Path] = {"data": folder.root, "logs": folder.logs}
        logger.info("ready", extra=fields | {name: str(path) for name, path in folders.items()})

    def say_stopped(self) -> None:
        logger.info("stopped")

    @contextmanager
    def failures(self) -> Generator[None]:
        try:
            yield
        except StackError as error:
            logger.critical("not started", extra={"error": str(error)})
            raise typer.Exit(FAILED) from error


def choose_display(log_format: str) -> UpDisplay:
    """log_format: RHAPSODE_LOG_FORMAT. Who leaves the choice to us reads what a command says to him."""
    return UpLog() if log_format == "json" else UpSentences()
