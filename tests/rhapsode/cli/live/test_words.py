"""A pipe is read word by word, as its bytes come."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from rhapsode.cli.failures import Misuse
from rhapsode.cli.live.say import MAX_HELD_CHARS, words


def pipe(*pieces: bytes) -> Callable[[int], bytes]:
    left = [*pieces, b""]
    return lambda size: left.pop(0)


def test_a_word_goes_as_soon_as_it_is_whole() -> None:
    assert list(words(pipe(b"The wi", b"nd and ", b"the", b" sun."))) == ["The ", "wind and ", "the ", "sun."]


def test_pieces_are_together_the_text_wherever_its_bytes_were_cut() -> None:
    text = "Ärger über Öl — “naïve” 風と太陽。\n\n Ende " * 20
    data, rng = text.encode(), random.Random(7)
    for _ in range(50):
        cuts = sorted(rng.sample(range(1, len(data)), 30))
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        assert "".join(words(pipe(*pieces))) == text


def test_a_mark_of_the_byte_order_is_no_word() -> None:
    assert "".join(words(pipe(b"\xef\xbb", b"\xbfHello."))) == "Hello."


def test_a_word_that_does_not_end_is_not_kept_for_ever() -> None:
    pieces = list(words(pipe(*[b"a" * 600] * 10)))

    assert "".join(pieces) == "a" * 6000
    assert max(map(len, pieces)) <= MAX_HELD_CHARS + 600


@pytest.mark.parametrize("pieces", [(b"caf\xe9 au lait",), (b"caf\xc3",)])
def test_what_is_no_utf_8_is_refused(pieces: tuple[bytes, ...]) -> None:
    with pytest.raises(Misuse, match="UTF-8"):
        list(words(pipe(*pieces)))
