"""Where the API listens: the socket is opened here and handed to the API process.

So a taken port is known before anything starts, and while the API restarts its callers wait in the queue of the socket
instead of being refused. Several API processes accept from the same socket.
"""

from __future__ import annotations

import errno
import ipaddress
import socket

from rhapsode.stack.errors import AddressRefused

BACKLOG = 512


def listen(host: str, port: int, known: str) -> socket.socket:
    """As `bound`. Raises `AddressRefused`, also where nobody is asked who they are.

    known: the value of RHAPSODE_API_KEYS, or of RHAPSODE_OIDC_ISSUER.
    """
    if not is_loopback(host) and known.strip() in ("", "{}"):
        raise AddressRefused(
            f"refusing to listen on {host} without API keys: everyone who reaches it could use it. "
            "Set RHAPSODE_API_KEYS (`rhapsode keys draw` makes one) or RHAPSODE_OIDC_ISSUER, or listen on 127.0.0.1"
        )
    return bound(host, port)


def bound(host: str, port: int) -> socket.socket:
    """A listening TCP socket. Raises `AddressRefused`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise AddressRefused(f"{host!r} is not an address of this machine: {error.strerror}") from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted connections inherit it; asyncio cannot set it on a socket it was handed by number.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise AddressRefused(_why(error, host, port)) from error
    return listener


def url_of(listener: socket.socket) -> str:
    """The URL for a client on this machine."""
    host, port = listener.getsockname()[:2]
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        host = "127.0.0.1" if address.version == 4 else "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {host} is taken by another program; choose another with --port, or --port 0 for any"
    if error.errno == errno.EACCES:
        return f"port {port} needs root; choose one above 1023 with --port"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine"
    return f"cannot listen on {host} port {port}: {error.strerror}"
