"""Requests that say two things about where they end are no requests (RFC 9112, 6.1 and 6.3).

h11 takes one of the two statements and goes on. A proxy in front may take the other: what it holds for a request's body
would be the next request here, of any sender, behind the proxy's back.
"""

from __future__ import annotations

import h11


class TwoEnds(h11.RemoteProtocolError):
    """A head whose body would end in two places. is_head: the request is a HEAD, whose answer has no body."""

    def __init__(self, detail: str, *, is_head: bool) -> None:
        super().__init__(detail)
        self.is_head = is_head


class StrictConnection(h11.Connection):
    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Raises `TwoEnds` too; nothing can follow it."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            _refuse_two_ends(event)
        return event


def _refuse_two_ends(request: h11.Request) -> None:
    names = {name for name, _ in request.headers}
    is_head = request.method == b"HEAD"
    if b"transfer-encoding" not in names:
        return
    if b"content-length" in names:
        raise TwoEnds("it has Content-Length and Transfer-Encoding", is_head=is_head)
    if request.http_version < b"1.1":
        raise TwoEnds("Transfer-Encoding in a request of HTTP/1.0", is_head=is_head)
