"""English text as a sequence of words that sound alike however they are spelt."""

from __future__ import annotations

import re
from collections.abc import Callable

from worker.speech.text.numbers.english_words import BEYOND, ONES, SCALES, TENS, cardinal, digits, ordinal

_SCALE_WORDS = frozenset(word for _, word in SCALES)
_NUMBER_WORDS = frozenset((*ONES, *TENS)) | _SCALE_WORDS

_SAME = {
    "cannot": "can not",
    "can't": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "let's": "let us",
    "gonna": "going to",
    "wanna": "want to",
    "ok": "okay",
    "mr": "mister",
    "mrs": "missus",
    "dr": "doctor",
    "grey": "gray",
    "colour": "color",
    "neighbour": "neighbor",
    "neighbours": "neighbors",
    "harbour": "harbor",
    "favourite": "favorite",
    "centre": "center",
    "theatre": "theater",
    "traveller": "traveler",
    "travellers": "travelers",
}
_SUFFIXES = {"n't": " not", "'re": " are", "'ll": " will", "'ve": " have", "'m": " am", "'d": " would"}
_IS_AFTER = frozenset(["it", "that", "he", "she", "what", "there", "who", "where", "here", "how"])

_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)*|\d+(?:st|nd|rd|th)\b|\d+(?:\.\d+)?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CLOCK = re.compile(r"\b(\d{1,2}):(\d{2})\b")
_MONEY = re.compile(r"\$\s?(\d[\d,]*(?:\.\d+)?)")


def spoken_words(text: str) -> list[str]:
    """Lower-case words without marks; numbers spelled, contractions written out, one spelling for each word.

    Written out the same way on both sides of a comparison, so it need not be what a speaker would choose.
    """
    plain = _plain(text)
    words = [word for token in _TOKEN.findall(plain) for word in _written_out(token)]
    return _without_and_in_numbers(words)


def _plain(text: str) -> str:
    lowered = text.lower().replace("\u2019", "'").replace("\u2018", "'")
    lowered = _CLOCK.sub(lambda m: m[1] if m[2] == "00" else f"{m[1]} {m[2]}", lowered)
    lowered = _MONEY.sub(r"\1 dollars", lowered)
    return _THOUSANDS.sub("", lowered).replace("%", " percent ").replace("&", " and ")


def _written_out(token: str) -> list[str]:
    if token[0].isdigit():
        return _number(token)
    if token in _SAME:
        return _SAME[token].split()
    for suffix, words in _SUFFIXES.items():
        if token.endswith(suffix) and token != suffix:
            return (token.removesuffix(suffix) + words).split()
    if token.endswith("'s") and token[:-2] in _IS_AFTER:
        return [token[:-2], "is"]
    return [token.replace("'", "")]


def _number(token: str) -> list[str]:
    if token[-1].isalpha():
        return _said(token[:-2], ordinal)
    whole, _, decimals = token.partition(".")
    words = _said(whole, cardinal)
    return [*words, "point", *digits(decimals).split()] if decimals else words


def _said(written: str, words: Callable[[int], str]) -> list[str]:
    number = int(written)
    return (words(number) if number < BEYOND else digits(str(number))).replace("-", " ").split()


def _without_and_in_numbers(words: list[str]) -> list[str]:
    """ "two hundred and five" is said for "205" by some and not by others."""
    return [
        word
        for place, word in enumerate(words)
        if not (
            word == "and"
            and 0 < place < len(words) - 1
            and words[place - 1] in _SCALE_WORDS
            and words[place + 1] in _NUMBER_WORDS
        )
    ]
