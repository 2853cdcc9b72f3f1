"""Where a worker process shows its metrics: a small HTTP server in its thread, if a port is set."""

from __future__ import annotations

import errno
import logging
import re
import threading
from types import TracebackType
from typing import Self
from wsgiref.simple_server import WSGIServer

from prometheus_client import start_http_server

from storage.runtime.config.settings import SettingsError
from storage.runtime.observability.metrics import REGISTRY

logger = logging.getLogger(__name__)

_PORTS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


def parse_ports(text: str) -> range:
    """`9101`, or `9101-9120`: the first free one of these. Empty: none. Raises `ValueError`."""
    if not text:
        return range(0)
    match = _PORTS.fullmatch(text)
    if match is None:
        raise ValueError("must be a port, or a first and a last one such as 9101-9120")
    first = int(match[1])
    last = int(match[2] or first)
    if not 1 <= first <= last <= 65535:
        raise ValueError("must be ports from 1 to 65535, the lower one first")
    return range(first, last + 1)


class MetricsServer:
    """Serves `/metrics` from its making until `close`."""

    def __init__(self, server: WSGIServer, thread: threading.Thread) -> None:
        self._server = server
        self._thread = thread
        self.port = server.server_port

    def close(self) -> None:
        """Idempotent."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serve_metrics(host: str, ports: range) -> MetricsServer | None:
    """On the first free port; None if there is none to serve on. Raises `SettingsError` when all are taken."""
    for port in ports:
        try:
            server, thread = start_http_server(port, host, REGISTRY)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            raise SettingsError(f"RHAPSODE_METRICS_HOST={host}: {error}") from error
        logger.info("metrics served", extra={"host": host, "port": port})
        return MetricsServer(server, thread)
    if ports:
        raise SettingsError(f"RHAPSODE_METRICS_PORT: every port from {ports[0]} to {ports[-1]} is taken")
    return None
