"""Options of each command that calls a server, its client, and how it prints answers."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from rhapsode.cli.options import DataDirOption, JsonOption, ServerOption, read_settings
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pydantic import BaseModel

    from rhapsode.client.live.orders import Texts
    from rhapsode.client.request_options import StreamOptions
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.client.sync.speaking import SpeechStream

    Answer = TypeVar("Answer", bound=BaseModel)
    StreamSpeech = Callable[[Texts, StreamOptions], SpeechStream]


@dataclass(frozen=True, slots=True)
class AddressOptions:
    """Where the server is."""

    server: ServerOption = None
    data_dir: DataDirOption = None


@dataclass(frozen=True, slots=True)
class CommonOptions(AddressOptions):
    """Where the server is, and the form of the output."""

    as_json: JsonOption = False

    def echo(self, answer: BaseModel, line: str) -> None:
        """Print the line, or with --json the answer."""
        echo(answer.model_dump_json() if self.as_json else line)

    def echo_each(self, answers: Sequence[Answer], line: Callable[[Answer], str], none: str = "") -> None:
        """Print a line for each answer, and `none` if there is no answer. With --json: one JSON object per line."""
        for answer in answers:
            self.echo(answer, line(answer))
        if not (answers or self.as_json) and none:
            echo(none)

    def echo_facts(self, answer: BaseModel, facts: Iterable[tuple[str, str]]) -> None:
        """Print a name and a value per line, or with --json the answer, indented."""
        if self.as_json:
            echo(answer.model_dump_json(indent=2))
            return
        rows = [*facts]
        width = max(10, *(len(name) for name, _ in rows))
        for name, value in rows:
            echo(f"{name:<{width}} {value}")


@contextmanager
def connected(to: AddressOptions) -> Generator[Rhapsode]:
    """A client of a running server. Raises `ServerUnreachable`, which says how to start one."""
    from rhapsode.cli.consoles import VisibleConsole
    from rhapsode.cli.servers import choose_target, running_server

    settings = read_settings()
    with running_server(choose_target(to, settings), settings, VisibleConsole(stderr=True)) as client:
        yield client


@contextmanager
def connected_to_speak(to: AddressOptions) -> Generator[StreamSpeech]:
    """Like `connected`, for live speech only: the whole client loads more slowly than speech starts."""
    from rhapsode.cli.consoles import VisibleConsole
    from rhapsode.cli.servers import choose_target, running_connection
    from rhapsode.client.sync.connections import open_pool
    from rhapsode.client.sync.speaking import stream_speech

    settings = read_settings()
    with (
        running_connection(choose_target(to, settings), settings, VisibleConsole(stderr=True)) as connection,
        open_pool(connection) as http,
    ):
        yield lambda text, options: stream_speech(http, connection, text, options)
