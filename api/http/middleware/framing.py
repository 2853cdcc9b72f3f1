"""What h11 lets through: requests with two ends (RFC 9112, 6.1 and 6.3), odd Host headers, endless small chunks.

Requests that say two things about where they end are no requests.

h11 takes one of the two statements and goes on. A proxy in front may take the other: what it holds for a request's body
would be the next request here, of any sender, behind the proxy's back.

A chunk costs about the same whatever it holds, so a body has a number of small ones at most.
"""

from __future__ import annotations

import h11

from api.http.own_address import is_plain_host

MOST_SMALL_CHUNKS = 4_096
BYTES_A_CHUNK = 32
"""A body may have a chunk more for so many bytes."""


class TwoEnds(h11.RemoteProtocolError):
    """A head whose body would end in two places. is_head: the request is a HEAD, whose answer has no body."""

    def __init__(self, detail: str, *, is_head: bool) -> None:
        super().__init__(detail)
        self.is_head = is_head


class StrictConnection(h11.Connection):
    """is_chunked: the latest request's body. num_chunks: that have come of it."""

    def __init__(self, role: type[h11.CLIENT] | type[h11.SERVER], max_head_bytes: int) -> None:
        super().__init__(role, max_head_bytes)
        self.is_chunked = False
        self.num_chunks = self._chunked_bytes = 0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Raises `TwoEnds` too, and for an odd Host or too many small chunks; nothing can follow."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            _refuse_two_ends(event)
            _refuse_odd_host(event)
            self.is_chunked = any(name == b"transfer-encoding" for name, _ in event.headers)
            self.num_chunks = self._chunked_bytes = 0
        elif isinstance(event, h11.Data) and self.is_chunked:
            self._count(event)
        return event

    def _count(self, data: h11.Data) -> None:
        self._chunked_bytes += len(data.data)
        self.num_chunks += data.chunk_end
        if self.num_chunks > MOST_SMALL_CHUNKS + self._chunked_bytes // BYTES_A_CHUNK:
            raise h11.RemoteProtocolError("the body comes in too many small chunks")


def _refuse_two_ends(request: h11.Request) -> None:
    names = {name for name, _ in request.headers}
    is_head = request.method == b"HEAD"
    if b"transfer-encoding" not in names:
        return
    if b"content-length" in names:
        raise TwoEnds("it has Content-Length and Transfer-Encoding", is_head=is_head)
    if request.http_version < b"1.1":
        raise TwoEnds("Transfer-Encoding in a request of HTTP/1.0", is_head=is_head)


def _refuse_odd_host(request: h11.Request) -> None:
    if any(name == b"host" and not is_plain_host(value) for name, value in request.headers):
        raise h11.RemoteProtocolError("the Host header is not a name or an address with an optional port")
