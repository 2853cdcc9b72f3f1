"""The client of the server that a command means."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rhapsode.cli.options import choose_data_dir, read_settings

if TYPE_CHECKING:
    from pathlib import Path

    from rhapsode.client.sync.client import Rhapsode


@contextmanager
def connected(server: str | None, data_dir: Path | None) -> Generator[Rhapsode]:
    """Of a server that runs already. Raises `ServerUnreachable` saying how to get one."""
    from rich.console import Console

    from rhapsode.cli.servers import choose_target, running_server

    settings = read_settings()
    folder = choose_data_dir(data_dir, settings)
    target = choose_target(server, data_dir=folder, is_data_dir_given=data_dir is not None, settings=settings)
    with running_server(target, settings, Console(stderr=True)) as client:
        yield client
