"""The client processes of one stage: they start, begin together, report, and are ended."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from queue import Empty, SimpleQueue
from typing import Annotated

from pydantic import Field, TypeAdapter

from rhapsode.bench.children import BenchChild, child_process
from rhapsode.bench.server.load import ClientReady, ClientTask, Message

COMMAND = (sys.executable, "-m", "rhapsode.bench.server.load")

_MESSAGES: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="kind")])
_START_S = 60.0
_LEAD_S = 0.1
"""From the word to begin to the beginning: it reaches all clients before that."""
_GRACE_S = 5.0

_Said = SimpleQueue[Message | int]
"""Messages of all clients, and the status with which each ended."""


class ClientLost(Exception):
    """A client process ended before its work was done."""


@contextmanager
def begun_clients(
    tasks: Sequence[ClientTask], command: Sequence[str] = COMMAND
) -> Generator[tuple[float, Generator[Message]]]:
    """When they begin, on the monotonic clock, and what they say from then on, until all have ended.

    They are ended with the block. Raises ClientLost, here or while their messages are read.
    """
    said: _Said = SimpleQueue()
    with ExitStack() as stack:
        clients = [stack.enter_context(_read_client(command, said)) for _ in tasks]
        for client, task in zip(clients, tasks, strict=True):
            _tell(client, json.dumps(asdict(task)))
        for _ in clients:
            if not isinstance(_next(said, _START_S), ClientReady):
                raise ClientLost("a client did not start")
        begins_s = time.monotonic() + _LEAD_S
        for client in clients:
            _tell(client, repr(begins_s))
        most_s = max(task.ends_s + task.timeout_s for task in tasks) + _LEAD_S + _GRACE_S
        yield begins_s, _messages(said, len(clients), begins_s + most_s)


def _messages(said: _Said, running: int, until_s: float) -> Generator[Message]:
    while running:
        message = _next(said, until_s - time.monotonic())
        if not isinstance(message, int):
            yield message
        elif message:
            raise ClientLost(f"a client ended with status {message}")
        else:
            running -= 1


def _next(said: _Said, seconds: float) -> Message | int:
    try:
        return said.get(timeout=max(0.0, seconds))
    except Empty:
        raise ClientLost("a client said nothing any more") from None


def _tell(client: BenchChild, line: str) -> None:
    if client.process.stdin is None:
        raise AssertionError("a client has a standard input")
    try:
        client.process.stdin.write(line + "\n")
        client.process.stdin.flush()
    except BrokenPipeError:
        raise ClientLost("a client ended before it began") from None


@contextmanager
def _read_client(command: Sequence[str], said: _Said) -> Generator[BenchChild]:
    def read() -> None:
        for message in client.messages(_MESSAGES):
            said.put(message)
        said.put(client.process.wait())

    with child_process(command, stdin=subprocess.PIPE) as client:
        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield client
        finally:
            client.end()
            reader.join()
