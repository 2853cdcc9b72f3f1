"""How a WebSocket to the server is opened, and what its failures mean in the client's own words. No I/O."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Literal, TypedDict

import httpx
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.typing import Subprotocol

from rhapsode.client.connection import USER_AGENT, Connection
from rhapsode.client.live.conversation import MAX_MESSAGE_BYTES
from rhapsode.client.retries import Attempts
from rhapsode.contract.speech_socket import NARI, SOCKET_PATH
from rhapsode.errors import ServerUnreachable

CLOSE_S = 2.0
"""How long a server may take to answer a goodbye; the connection is cut then."""

CONNECTION_FAULTS = (OSError, TimeoutError, WebSocketException)
"""What opening a connection raises."""


class LineOptions(TypedDict):
    """Of websockets' `connect`."""

    subprotocols: list[Subprotocol]
    additional_headers: dict[str, str]
    user_agent_header: str
    compression: None
    open_timeout: float
    close_timeout: float
    max_size: int
    proxy: Literal[True] | None


def line_url(connection: Connection) -> str:
    url = httpx.URL(connection.server_url)
    scheme = {"http": "ws", "https": "wss"}[url.scheme]
    return str(url.copy_with(scheme=scheme, path=url.path.rstrip("/") + SOCKET_PATH))


def line_options(connection: Connection) -> LineOptions:
    return {
        "subprotocols": [Subprotocol(NARI)],
        "additional_headers": {"Authorization": f"Bearer {connection.api_key}"} if connection.api_key else {},
        "user_agent_header": USER_AGENT,
        # Samples do not get smaller.
        "compression": None,
        "open_timeout": min(connection.timeout_s, 10.0),
        "close_timeout": CLOSE_S,
        "max_size": MAX_MESSAGE_BYTES,
        "proxy": None if _is_this_machine(httpx.URL(connection.server_url).host) else True,
    }


def pause_after_fault(attempts: Attempts, error: Exception) -> float | None:
    """Seconds to wait before connecting again. Raises what the other calls of the client raise when that is no use."""
    if isinstance(error, InvalidStatus):
        answer = error.response
        headers = list(answer.headers.raw_items())
        asked = httpx.Request("GET", attempts.server)
        return attempts.pause_after_answer(
            httpx.Response(answer.status_code, headers=headers, content=bytes(answer.body), request=asked)
        )
    return attempts.pause_after_break(httpx.ConnectError(str(error) or type(error).__name__))


def broken_off(error: ConnectionClosed) -> ServerUnreachable:
    return ServerUnreachable(f"the speech broke off before its end: {error}")


def _is_this_machine(host: str) -> bool:
    """As `PROXY_FREE` of the other connections."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
