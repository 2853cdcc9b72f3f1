# Made from rhapsode/client/aio/bounding.py by `make generated`; change that file, not this one.
"""What every pool does with an answer before its body is read."""

from __future__ import annotations

from collections.abc import Iterator

import httpx

from rhapsode.client.answer_limits import limit_of, too_large


def bound_answer(response: httpx.Response) -> None:
    """Raises `BadAnswer` for a compressed answer, and has reading raise it for one that is too large."""
    limit = limit_of(response)
    if limit is not None:
        response.stream = _Bounded(response, limit)


class _Bounded(httpx.SyncByteStream):
    """The body of an answer, which ends with an error behind this many bytes."""

    def __init__(self, response: httpx.Response, limit: int) -> None:
        if not isinstance(response.stream, httpx.SyncByteStream):
            raise TypeError(f"an answer over {type(response.stream).__name__}")
        self._response = response
        self._stream = response.stream
        self._limit = limit

    def __iter__(self) -> Iterator[bytes]:
        num_bytes = 0
        for piece in self._stream:
            num_bytes += len(piece)
            if num_bytes > self._limit:
                raise too_large(self._response, self._limit)
            yield piece

    def close(self) -> None:
        self._stream.close()
