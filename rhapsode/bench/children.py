"""Child processes that report what they find: a line of JSON each, on their standard output."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import IO, TYPE_CHECKING, TypeVar

from pydantic import TypeAdapter, ValidationError

from rhapsode import system_packages

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_TERMINATION_S = 10.0

Message = TypeVar("Message")


@dataclass(frozen=True, slots=True)
class BenchChild:
    """was_late: set if it was killed because its time was over."""

    process: subprocess.Popen[str]
    was_late: threading.Event = field(default_factory=threading.Event)

    def messages(self, form: TypeAdapter[Message]) -> Generator[Message]:
        """Lines of another form come from a library that prints; they are passed on to standard error."""
        lines: Iterable[str] = self.process.stdout or ()
        for line in lines:
            try:
                yield form.validate_json(line)
            except ValidationError:
                sys.stderr.write(line)

    def kill_late(self) -> None:
        self.was_late.set()
        self.process.kill()

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(_TERMINATION_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def child_process(
    command: Sequence[str], most_s: float = math.inf, stdin: int | IO[str] | None = None
) -> Generator[BenchChild]:
    """It ends with the block, and is killed after most_s. Ctrl-C does not reach it: it has its own session."""
    environment = os.environ | system_packages.environment(os.environ)
    process = subprocess.Popen(
        list(command), stdin=stdin, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    child = BenchChild(process)
    killer = threading.Timer(min(most_s, threading.TIMEOUT_MAX), child.kill_late)
    killer.daemon = True
    killer.start()
    try:
        yield child
    finally:
        killer.cancel()
        child.end()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):  # of what was not read any more
                    pipe.close()


def report_to_parent(message: DataclassInstance) -> None:
    """Called in the child. If the parent has ended, the child ends at once: an exception would print a stack trace."""
    try:
        sys.stdout.write(json.dumps(asdict(message)) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os._exit(os.EX_IOERR)


def line_of_parent() -> str:
    """Called in the child. Ends it if the parent has ended."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(os.EX_IOERR)
    return line
