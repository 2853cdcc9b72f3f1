"""The output of `rhapsode up`: sentences for people, or log lines for programs."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import assert_never

import typer

from rhapsode.cli.consoles import VisibleConsole
from rhapsode.cli.formatting import span
from rhapsode.cli.local.plan_table import machine_line, plan_facts
from rhapsode.cli.local.stack_display import Narrator
from rhapsode.stack import events
from rhapsode.stack.errors import StackError
from rhapsode.stack.layout import DataDir, default_data_dir
from storage.runtime.observability.logs import configure_logging

logger = logging.getLogger(__name__)


class UpSentences(Narrator):
    """Sentences on standard error, with a spinner on a terminal."""

    def __init__(self) -> None:
        console = VisibleConsole(stderr=True)
        super().__init__(console, console.status("starting"))

    def starting(self) -> AbstractContextManager[object]:
        """Open until the stack is ready."""
        return self._spinner

    def greet(self, ready: events.StackReady, folder: DataDir, seconds: float) -> None:
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
        self.say("\n".join(lines))
        self.say("Ctrl-C stops it; unfinished jobs continue at the next start.")

    def failures(self) -> AbstractContextManager[None]:
        """Open for the whole run. The command line itself prints why there is no stack."""
        return nullcontext()


class UpLog:
    """Log lines like those of the processes that it starts."""

    def __init__(self) -> None:
        configure_logging("json", process={"role": "up"})
        self.ready: events.StackReady | None = None

    def __call__(self, event: events.StackEvent) -> None:
        match event:
            case events.ProcessesPlanned(plan):
                fields = {"machine": machine_line(plan.machine), "processes": plan_facts(plan)}
                logger.info("planned", extra=fields | {"reasons": dict(plan.reasons)})
            case events.WaitingFor(what):
                logger.info("waiting", extra={"waiting_for": what})
            case events.StackReady():
                self.ready = event
            case events.ProcessEnded(name, status, said, restart_s, log):
                fields = {"process_name": name, "status": status, "restart_s": restart_s, "log": str(log)}
                logger.warning("process ended", extra=fields | ({"error": said} if said else {}))
            case events.ProcessRestarted(name, pid):
                logger.info("process runs again", extra={"process_name": name, "process_id": pid})
            case events.OrphansEnded(names):
                logger.warning("ended processes that a killed stack had left", extra={"process_names": names})
            case events.Stopping(names):
                logger.info("stopping", extra={"process_names": names})
            case events.ProcessKilled(name, grace_s):
                logger.warning("process killed", extra={"process_name": name, "grace_s": grace_s})
            case events.StateUnwritten(file, reason):
                logger.error("state not written", extra={"file": str(file), "error": reason})
            case _:
                assert_never(event)

    def starting(self) -> AbstractContextManager[object]:
        return nullcontext()

    def greet(self, ready: events.StackReady, folder: DataDir, seconds: float) -> None:
        fields = {"url": ready.url, "model": ready.model, "after_s": round(seconds, 1), "notice": ready.notice}
        folders: dict[str, Path] = {"data": folder.root, "logs": folder.logs}
        logger.info("ready", extra=fields | {name: str(path) for name, path in folders.items()})

    def say(self, sentence: str) -> None:
        logger.info(sentence)

    @contextmanager
    def failures(self) -> Generator[None]:
        try:
            yield
        except StackError as error:
            logger.critical("not started", extra={"error": str(error)})
            raise typer.Exit(error.exit_status) from error


UpDisplay = UpSentences | UpLog


def choose_display(log_format: str) -> UpDisplay:
    """log_format: RHAPSODE_LOG_FORMAT. The default is sentences."""
    return UpLog() if log_format == "json" else UpSentences()
