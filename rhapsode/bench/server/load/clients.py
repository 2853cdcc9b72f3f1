"""The client processes of one stage: started, begun together, listened to, ended."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from queue import Empty, SimpleQueue
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from rhapsode.bench.server.load.messages import ClientTask, Message, Ready

COMMAND = (sys.executable, "-m", "rhapsode.bench.server.load.client_process")

_MESSAGES: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="kind")])
_START_S = 60.0
_LEAD_S = 0.1
"""From the word to begin to the beginning: it reaches all clients before that."""
_GRACE_S = 5.0
_TERMINATION_S = 5.0


class ClientLost(Exception):
    """A client process ended before its work was done."""


@contextmanager
def begun_clients(
    tasks: Sequence[ClientTask], command: Sequence[str] = COMMAND
) -> Generator[tuple[float, Generator[Message]]]:
    """When they begin, on the monotonic clock, and what they say from then on, until all have ended.

    They are ended with the block. Raises ClientLost, here or while they are listened to.
    """
    said: SimpleQueue[Message | int] = SimpleQueue()
    with ExitStack() as stack:
        clients = [stack.enter_context(_heard_process(command, said)) for _ in tasks]
        for client, task in zip(clients, tasks, strict=True):
            _tell(client, json.dumps(asdict(task)))
        for _ in clients:
            if not isinstance(_next(said, _START_S), Ready):
                raise ClientLost("a client did not start")
        begins_s = time.monotonic() + _LEAD_S
        for client in clients:
            _tell(client, repr(begins_s))
        most_s = max(task.ends_s + task.timeout_s for task in tasks) + _LEAD_S + _GRACE_S
        yield begins_s, _messages(said, len(clients), begins_s + most_s)


def _messages(said: SimpleQueue[Message | int], running: int, until_s: float) -> Generator[Message]:
    while running:
        message = _next(said, until_s - time.monotonic())
        if not isinstance(message, int):
            yield message
        elif message:
            raise ClientLost(f"a client ended with status {message}")
        else:
            running -= 1


def _next(said: SimpleQueue[Message | int], seconds: float) -> Message | int:
    try:
        return said.get(timeout=max(0.0, seconds))
    except Empty:
        raise ClientLost("a client said nothing any more") from None


def _tell(client: subprocess.Popen[str], line: str) -> None:
    if client.stdin is None:
        raise AssertionError("a client has a standard input")
    try:
        client.stdin.write(line + "\n")
        client.stdin.flush()
    except BrokenPipeError:
        with suppress(BrokenPipeError):
            client.stdin.close()  # now: Popen would try to write the rest once more
        raise ClientLost("a client ended before it began") from None


def _read(client: subprocess.Popen[str], said: SimpleQueue[Message | int]) -> None:
    """Lines that are none of ours come from a library that prints; they are passed on to standard error."""
    for line in client.stdout or ():
        try:
            said.put(_MESSAGES.validate_json(line))
        except ValidationError:
            sys.stderr.write(line)
    said.put(client.wait())


@contextmanager
def _heard_process(command: Sequence[str], said: SimpleQueue[Message | int]) -> Generator[subprocess.Popen[str]]:
    """In a session of its own, so that Ctrl-C reaches this process alone, which ends it and tells what there is."""
    with subprocess.Popen(
        list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        reader = threading.Thread(target=_read, args=(process, said))
        reader.start()
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_TERMINATION_S)
            except subprocess.TimeoutExpired:
                process.kill()
            reader.join()
