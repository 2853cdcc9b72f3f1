"""The server that a command uses: the given one, the one on this machine, or a new one for this command."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from rhapsode.cli.failures import Misuse
from rhapsode.cli.options import choose_data_dir
from rhapsode.client.connection import PROXY_FREE, Connection
from rhapsode.client.encryption import EncryptionWhenNeeded
from rhapsode.client.retries import Attempts, RetryPolicy
from rhapsode.errors import ServerUnreachable
from rhapsode.settings import ClientSettings
from rhapsode.stack.errors import DataFolderTaken
from rhapsode.stack.layout import DataDir
from rhapsode.stack.state_file import StackState, is_used_by_others, read_state, using_stack

if TYPE_CHECKING:
    from rich.console import Console

    from rhapsode.cli.clients import AddressOptions
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.stack.options import StackOptions

PATIENT = RetryPolicy(attempts=10)
"""A server restarts within half a minute. A narration continues after that."""

FIRST_CONTACT = RetryPolicy(attempts=5)
"""Before the first answer, a wrong address is more likely: try for three seconds."""

APPEARANCE_S = 15.0
"""Longer than a starting stack needs to end the processes of a killed one."""

MODEL_S = 60.0
"""Longer than a GPU worker needs to restart. After that, the server reports its models."""


@dataclass(frozen=True, slots=True)
class ServerChoice:
    """server_url: None for the server on the data folder."""

    server_url: str | None
    data_dir: DataDir


def choose_target(to: AddressOptions, settings: ClientSettings) -> ServerChoice:
    """Options come before the environment."""
    url = to.server or (None if to.data_dir else settings.server_url)
    return ServerChoice(url, choose_data_dir(to.data_dir, settings))


@contextmanager
def running_server(target: ServerChoice, settings: ClientSettings, console: Console) -> Generator[Rhapsode]:
    """A client of a running server. Raises `ServerUnreachable`, which says how to start one."""
    with running_connection(target, settings, console) as connection, _client(connection) as client:
        yield client


@contextmanager
def running_connection(target: ServerChoice, settings: ClientSettings, console: Console) -> Generator[Connection]:
    """The connection to a running server. Raises like `running_server`."""
    if target.server_url is not None:
        connection = _connection(target.server_url, settings)
        _await_contact(target.server_url)
        yield connection
        return
    state = _live_state(target.data_dir)
    if state is None:
        fault = f"no server is running with the data folder {target.data_dir.root}"
        raise ServerUnreachable(f"{fault}; start one with `rhapsode up`, or name one with --server")
    with using_stack(target.data_dir):
        _await_start(state, target.data_dir, console)
        yield _connection(state.url, settings)


@contextmanager
def lasting_server(
    target: ServerChoice, options: StackOptions, settings: ClientSettings, console: Console
) -> Generator[Rhapsode]:
    """Like `running_server`. Raises `Misuse` for options of a new server, which would end with this command."""
    _refuse_stack_options(target, options)
    with running_server(target, settings, console) as client:
        state = None if target.server_url is not None else _live_state(target.data_dir)
        if state is not None:
            _await_model(state.url, console)
        yield client


@contextmanager
def any_server(
    target: ServerChoice, options: StackOptions, settings: ClientSettings, console: Console
) -> Generator[Rhapsode]:
    """Like `running_server`, or a new server, which ends with this command.

    Raises `Misuse` for options of a new server if another one runs.
    """
    from rhapsode.cli.local.stack_display import own_stack

    with ExitStack() as opened:
        if target.server_url is not None or _live_state(target.data_dir) is not None:
            yield opened.enter_context(lasting_server(target, options, settings, console))
            return
        try:
            stack = opened.enter_context(own_stack(options, os.environ, console))
        except DataFolderTaken:
            # Another command was faster. It publishes its address when it listens.
            if not _appears(target.data_dir):
                raise
            yield opened.enter_context(lasting_server(target, options, settings, console))
            return
        yield opened.enter_context(_client(_connection(stack.url, settings)))
        _await_other_users(target.data_dir, console)


def _connection(url: str, settings: ClientSettings) -> Connection:
    key = settings.api_key.get_secret_value() if settings.api_key else None
    try:
        return Connection(url, key, retries=PATIENT)
    except ValueError as error:
        raise Misuse(str(error)) from error


def _client(connection: Connection) -> Rhapsode:
    from rhapsode.client.sync.client import Rhapsode

    return Rhapsode(connection.server_url, api_key=connection.api_key, retries=connection.retries)


def _refuse_stack_options(target: ServerChoice, options: StackOptions) -> None:
    """Refuse options that a running server would ignore."""
    choices = {"--slots": options.slots, "--checkpoint": options.checkpoint, "--device": options.devices or None}
    given = [option for option, choice in choices.items() if choice is not None]
    if given:
        where = target.server_url or f"the server that runs on {target.data_dir.root}"
        raise Misuse(f"{' and '.join(given)}: {where} has its own value; omit the option, or stop that server")


def _await_contact(url: str) -> None:
    """Returns after the first answer of any status. Raises `ServerUnreachable`."""
    attempts = Attempts(FIRST_CONTACT, url)
    with httpx.Client(mounts=PROXY_FREE, verify=EncryptionWhenNeeded()) as client:
        while True:
            try:
                with client.stream("GET", f"{url.rstrip('/')}/livez"):
                    return
            except httpx.TransportError as error:
                time.sleep(attempts.pause_after_break(error))


def _live_state(data_dir: DataDir) -> StackState | None:
    state = read_state(data_dir)
    return state if state is not None and state.is_alive() else None


def _appears(data_dir: DataDir) -> bool:
    deadline = time.monotonic() + APPEARANCE_S
    while _live_state(data_dir) is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _await_start(state: StackState, data_dir: DataDir, console: Console) -> None:
    """Wait while a stack starts and its supervisor lives."""
    if state.is_ready:
        return
    with _waiting(f"waiting for the server at {state.url} to be ready", console):
        while (now := _live_state(data_dir)) is None or not now.is_ready:
            if not state.is_alive():
                raise ServerUnreachable(f"the server at {state.url} ended while it started; see {data_dir.logs}")
            time.sleep(0.3)


def _await_model(url: str, console: Console) -> None:
    """A GPU worker that restarts has no model for a while, and the server would refuse a narration."""
    if _has_model(url):
        return
    with _waiting("waiting for the model to load", console):
        deadline = time.monotonic() + MODEL_S
        while not _has_model(url) and time.monotonic() < deadline:
            time.sleep(0.3)


@contextmanager
def _waiting(sentence: str, console: Console) -> Generator[None]:
    if not console.is_terminal:
        console.print(sentence, markup=False, highlight=False, soft_wrap=True)
    with console.status(sentence):
        yield


def _has_model(url: str) -> bool:
    """Asks also an API that is not ready, for instance because the disk is full."""
    from rhapsode.client.readiness import read_readiness

    readiness = read_readiness(url)
    return readiness is not None and bool(readiness.models)


def _await_other_users(data_dir: DataDir, console: Console) -> None:
    if not is_used_by_others(data_dir):
        return
    console.print(
        "another command uses this server, which stops after that command (Ctrl-C stops it now)", soft_wrap=True
    )
    while is_used_by_others(data_dir):
        time.sleep(0.2)
