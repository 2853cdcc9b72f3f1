"""The router as a server: `python -m api.router.server --port 8765`. Several need not know of each other."""

from __future__ import annotations

from collections.abc import Sequence

from api.router.app import router_from_environment
from api.router.settings import RouterSettings
from api.server import serve

CELL_CONNECTIONS = 1
"""Opened for each that is accepted."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until SIGTERM or SIGINT. Ends with status 1 for settings or an address that cannot be, in one line."""
    serve(RouterSettings, router_from_environment, arguments, "api.router.server", CELL_CONNECTIONS)


if __name__ == "__main__":
    main()
