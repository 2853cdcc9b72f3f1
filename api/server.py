"""The API as a server: `python -m api.server --port 8765`.

One process, which serves until SIGTERM. It is uvicorn with a limit on connections (`api.http.middleware.connections`).
Another server can run `api.app:app_from_environment` without that limit.
"""

from __future__ import annotations

import argparse
import functools
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlsplit

import uvicorn

from api.http.middleware.connections import BEFORE_STOP, ConnectionLimits, HttpProtocol
from api.http.middleware.websockets import OPTIONS, WebSocketProtocol
from api.settings import LIMITS, ApiLimits, ApiSettings
from storage.runtime.config.file_limit import allow_files
from storage.runtime.config.settings import load_settings, settings_refused_by

BACKLOG = 512

STOP_AFTER_S = 2
"""What is sent to those who read slowly may take as long as they like; a stop does not wait for it."""

ANSWER_S = 0.005
MOST_ANSWERS_S = 6
"""Beyond that: for each request under way, since thousands may be held, which are all answered when the server stops;
and for all of them together.
"""

OTHER_FILES = 256
"""Open files that are no connections: stores, queues, recordings."""

STARTUP_FAILURE = 3


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until SIGTERM or SIGINT. Ends in one line: status 2 for wrong settings, 1 for a taken address."""
    given = _parsed(arguments)
    with settings_refused_by("api.server"):
        _serve(load_settings(ApiSettings), given)


def _serve(settings: ApiSettings, given: argparse.Namespace) -> None:
    """Raises `SettingsError`."""
    # Imported after the settings are read: it takes two thirds of a start, and wrong settings end one.
    from api.app import app_from_environment

    try:
        listener = _listener(given.fd, given.host, given.port)
    except OSError as error:
        sys.exit(f"api.server: {error}")
    limits = replace(LIMITS, connections=_most_connections(LIMITS.connections))
    server = DrainingServer(server_config(app_from_environment, settings, limits, factory=True))
    server.run(sockets=[listener])
    if not server.started:
        sys.exit(STARTUP_FAILURE)


class DrainingServer(uvicorn.Server):
    """Continues while live speech runs, then closes its socket and connections."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        before_stop = self.lifespan.state.get(BEFORE_STOP)
        if before_stop is not None:
            await before_stop(lambda: self.force_exit)
        answers_s = min(MOST_ANSWERS_S, ANSWER_S * len(self.server_state.tasks))
        # The annotation alone knows whole seconds only.
        grace_s: Any = (self.config.timeout_graceful_shutdown or 0) + answers_s
        self.config.timeout_graceful_shutdown = grace_s
        await super().shutdown(sockets)


def server_config(
    app: Any,  # noqa: ANN401 - uvicorn's own
    settings: ApiSettings,
    limits: ApiLimits = LIMITS,
    **more: Any,  # noqa: ANN401 - uvicorn's own
) -> uvicorn.Config:
    """How uvicorn serves an application of ours, or (`factory=True`) one that is made when it starts."""
    public_path = urlsplit(settings.public_url or "").path
    of_connections = ConnectionLimits(limits.connections, limits.request_timeout_s, public_path=public_path)
    protocol = functools.partial(HttpProtocol, limits=of_connections)
    options: dict[str, Any] = {
        # uvicorn calls it like the class that it asks for.
        "http": cast("Any", protocol),
        "ws": WebSocketProtocol,
        **OPTIONS,
        "access_log": False,
        "server_header": False,
        "h11_max_incomplete_event_size": None,
        "timeout_graceful_shutdown": STOP_AFTER_S,
    }
    return uvicorn.Config(app, **(options | more))


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m api.server", description="Serve Rhapsode's HTTP interface.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8765, help="port to listen on (8765)")
    parser.add_argument("--fd", type=int, help="a socket that listens already, by its number; instead of an address")
    return parser.parse_args(arguments)


def _listener(fd: int | None, host: str, port: int) -> socket.socket:
    """Raises `OSError`."""
    if fd is not None:
        return socket.socket(fileno=fd)
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    listener.listen(BACKLOG)
    return listener


def _most_connections(wished: int) -> int:
    """As many as the system allows this process: a connection that it cannot accept would get no answer."""
    needed = wished + OTHER_FILES
    allowed = allow_files(needed)
    most = max(1, min(wished, allowed - OTHER_FILES))
    if most < wished:
        files = f"no more than {allowed:,} files may be open here"
        remedy = f"{wished:,} need {needed:,} (ulimit -n, LimitNOFILE)"
        print(f"api.server: {files}, so {most:,} connections are served: {remedy}", file=sys.stderr)  # noqa: T201
    return most


if __name__ == "__main__":
    main()
