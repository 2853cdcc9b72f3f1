"""How large an answer may be that the client holds as a whole. Pure."""

from __future__ import annotations

import httpx

from rhapsode.errors import BadAnswer

UNCOMPRESSED = {"Accept-Encoding": "identity"}
"""A header of every request: a compressed answer could grow a thousand times in memory."""

PLAIN = {"", "identity", "aws-chunked"}
"""Encodings of bytes as they are. Some S3 servers repeat the last one from the upload."""

MAX_ERROR_BYTES = 1 << 20
MAX_JSON_BYTES = 1 << 28
"""The plan of a book of 24 hours has a tenth of that."""


def limit_of(response: httpx.Response) -> int | None:
    """Bytes that its body may have; None for a body that is read in pieces. Raises `BadAnswer` for a compressed one."""
    encoding = response.headers.get("content-encoding", "").lower()
    if not {each.strip() for each in encoding.split(",")} <= PLAIN:
        raise BadAnswer(f"{_asked(response)} answered with a compressed body ({encoding[:40]!r}), without being asked")
    if not response.is_success:
        return MAX_ERROR_BYTES
    return MAX_JSON_BYTES if _media_type(response) == "application/json" else None


def too_large(response: httpx.Response, limit: int) -> BadAnswer:
    return BadAnswer(f"{_asked(response)} answered {response.status_code} with more than {limit} bytes")


def _media_type(response: httpx.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _asked(response: httpx.Response) -> str:
    return f"{response.request.method} {response.request.url}"
