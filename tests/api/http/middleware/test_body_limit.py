"""The body's limits below any HTTP server: what one server would never let through, another might."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from api.http.middleware.body_limit import CountedBody
from api.http.problems.problem import HttpProblem


def received(pieces: Sequence[bytes], max_bytes: int, claimed_bytes: int | None) -> bytes:
    """The body as an application behind the limit reads it."""
    messages = [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces) - 1}
        for number, piece in enumerate(pieces)
    ]

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def read() -> bytes:
        counted = CountedBody(receive, max_bytes, claimed_bytes)
        body = b""
        while True:
            message = await counted.receive()
            body += message["body"]
            if not message["more_body"]:
                return body

    return asyncio.run(read())


def test_a_body_within_its_limits_passes_unchanged() -> None:
    assert received([b"ab", b"", b"cd"], max_bytes=4, claimed_bytes=4) == b"abcd"
    assert received([b"ab", b"cd"], max_bytes=4, claimed_bytes=None) == b"abcd"


@pytest.mark.parametrize(
    ("pieces", "max_bytes", "claimed_bytes", "status"),
    [
        ([b"abc", b"de"], 4, None, 413),
        ([b"abcde"], 4, None, 413),
        ([b"abc", b"de"], 9, 4, 413),
        ([b"abc"], 9, 4, 400),
        ([b""], 9, 4, 400),
    ],
)
def test_a_body_beyond_its_limit_or_its_claim_is_a_problem(
    pieces: list[bytes], max_bytes: int, claimed_bytes: int | None, status: int
) -> None:
    with pytest.raises(HttpProblem) as refusal:
        received(pieces, max_bytes, claimed_bytes)

    assert refusal.value.status == status
