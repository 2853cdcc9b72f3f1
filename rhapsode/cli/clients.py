"""The client of the server that a command means."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rhapsode.cli.options import choose_data_dir, read_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rhapsode.cli.servers import ServerChoice
    from rhapsode.client.live.orders import Texts
    from rhapsode.client.request_options import StreamOptions
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.client.sync.speaking import SpeechStream
    from rhapsode.settings import ClientSettings

    StreamSpeech = Callable[[Texts, StreamOptions], SpeechStream]


@contextmanager
def connected(server: str | None, data_dir: Path | None) -> Generator[Rhapsode]:
    """Of a server that runs already. Raises `ServerUnreachable` saying how to get one."""
    from rich.console import Console

    from rhapsode.cli.servers import running_server

    settings = read_settings()
    with running_server(_target(server, data_dir, settings), settings, Console(stderr=True)) as client:
        yield client


@contextmanager
def connected_to_speak(server: str | None, data_dir: Path | None) -> Generator[StreamSpeech]:
    """As `connected`, for live speech alone: the whole client takes longer to load than the speech to begin."""
    from rich.console import Console

    from rhapsode.cli.servers import running_connection
    from rhapsode.client.sync.opening import open_pool
    from rhapsode.client.sync.speaking import stream_speech

    settings = read_settings()
    with (
        running_connection(_target(server, data_dir, settings), settings, Console(stderr=True)) as connection,
        open_pool(connection) as http,
    ):
        yield lambda text, options: stream_speech(http, connection, text, options)


def _target(server: str | None, data_dir: Path | None, settings: ClientSettings) -> ServerChoice:
    from rhapsode.cli.servers import choose_target

    folder = choose_data_dir(data_dir, settings)
    return choose_target(server, data_dir=folder, is_data_dir_given=data_dir is not None, settings=settings)
