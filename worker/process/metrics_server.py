"""Where a worker process shows its metrics: a small HTTP server in its thread, if a port is set."""

from __future__ import annotations

import errno
import logging
import re
from typing import Annotated

from prometheus_client import start_http_server

from storage.runtime.config.settings import SettingsError, StorageSettings, check_host
from storage.runtime.config.webhook_options import checked_by
from storage.runtime.observability.metrics import REGISTRY

logger = logging.getLogger(__name__)

_ADDRESS = re.compile(r"(?:([\w.:-]{1,253}|\[[\w.:]{1,64}\]):)?(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
THIS_MACHINE = "127.0.0.1"


def parse_ports(text: str) -> tuple[str, range]:
    """The address to listen at, and its ports: `9101`, `9101-9120` or `0.0.0.0:9101`. Raises `ValueError`.

    Empty: no ports. Without an address: this machine's own.
    """
    if not text:
        return THIS_MACHINE, range(0)
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise ValueError("must be a port, or a first and a last one such as 9101-9120, after an address and : or alone")
    first = int(match[2])
    last = int(match[3] or first)
    if not 1 <= first <= last <= 65535:
        raise ValueError("must be ports from 1 to 65535, the lower one first")
    return check_host((match[1] or THIS_MACHINE).strip("[]")), range(first, last + 1)


class MeasuredSettings(StorageSettings):
    """A process that shows its metrics over HTTP.

    metrics_port: where. A range such as 9101-9120 is for several processes of a host: each takes the first free one.
        Empty: nowhere. 0.0.0.0:9101 listens at all addresses of the machine. Without an address, only the machine
        itself reads metrics. They name no tenant and no job.
    """

    metrics_port: Annotated[str, checked_by(parse_ports)] = ""


def serve_metrics(address: str) -> int | None:
    """On the first free port of an address (see `parse_ports`), until the process ends.

    Returns the port; None without an address. Raises `SettingsError`.
    """
    host, ports = parse_ports(address)
    for port in ports:
        try:
            start_http_server(port, host, REGISTRY)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            raise SettingsError(f"RHAPSODE_METRICS_PORT={address}: {error}") from error
        logger.info("metrics served", extra={"host": host, "port": port})
        return port
    if ports:
        raise SettingsError(f"RHAPSODE_METRICS_PORT: every port from {ports[0]} to {ports[-1]} is taken")
    return None
