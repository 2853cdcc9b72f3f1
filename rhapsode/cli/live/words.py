"""Text from a pipe, up to its last whole word so far."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator

from rhapsode.cli.failures import Misuse
from rhapsode.client.live.written import whole_words

READ_BYTES = 1 << 16

MAX_HELD_CHARS = 1_000
"""A longer word is sent in parts."""


def words(read: Callable[[int], bytes]) -> Iterator[str]:
    """Pieces that end after white space, as soon as they arrive. Joined, they are the text.

    read: returns at most so many bytes, and none at the end. Raises `Misuse` for bytes that are not UTF-8.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    held = ""
    while data := read(READ_BYTES):
        held += _decoded(decoder, data)
        size = whole_words(held) or (len(held) if len(held) > MAX_HELD_CHARS else 0)
        if size:
            yield held[:size]
            held = held[size:]
    if rest := held + _decoded(decoder, b"", is_last=True):
        yield rest


def _decoded(decoder: codecs.IncrementalDecoder, data: bytes, *, is_last: bool = False) -> str:
    try:
        return decoder.decode(data, is_last)
    except UnicodeDecodeError as error:
        raise Misuse("standard input is not text in UTF-8") from error
