"""Which protocol a handshake asks for. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from api.http.problems.problem import invalid_header
from rhapsode.contract.speech_socket import KEY_SUBPROTOCOL, PROTOCOLS

HEADER = "Sec-WebSocket-Protocol"


def chosen_protocol(offered: Sequence[str]) -> str | None:
    """The first that is spoken here; None if none was offered at all. Raises the `Problem` of none that is known."""
    names = [name for name in offered if not name.startswith(KEY_SUBPROTOCOL)]
    known = next((name for name in names if name in PROTOCOLS), None)
    if known is None and offered:
        # Browsers end a connection for which none of those that it offered was chosen.
        raise invalid_header(HEADER, "not_supported", f"offer one of: {', '.join(PROTOCOLS)}")
    return known
