"""English text as a sequence of words that sound alike however they are spelt."""

from __future__ import annotations

import re
import unicodedata

from reading.numbers.english_words import ordinal
from worker.speech.quality.words.letter_sounds import as_letters, letters_apart
from worker.speech.quality.words.number_digits import is_number, numbers_as_digits

_PAIRS = (
    "cannot=can not|can't=can not|won't=will not|shan't=shall not|let's=let us|gonna=going to|wanna=want to|"
    "ok=okay|o'clock=|oclock=|too=to|mr=mister|mrs=missus|dr=doctor|grey=gray|colour=color|neighbour=neighbor|"
    "neighbours=neighbors|harbour=harbor|favourite=favorite|centre=center|theatre=theater|traveller=traveler|"
    "travellers=travelers"
)
_SAME = {short: said for short, _, said in (pair.partition("=") for pair in _PAIRS.split("|"))}
_SUFFIXES = {"n't": " not", "'re": " are", "'ll": " will", "'ve": " have", "'m": " am", "'d": " would"}
_IS_AFTER = frozenset(["it", "that", "he", "she", "what", "there", "who", "where", "here", "how"])

_TENS_OF_YEARS = (
    *("hundreds", "tens", "twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties"),
)

_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)*|[0-9]+(?:st|nd|rd|th|s)\b|[0-9]+(?:\.[0-9]+)?")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
_CLOCK = re.compile(r"\b([0-9]{1,2}):([0-9]{2})\b")
_MONEY = re.compile(
    r"(?P<sign>[$£€])\s?(?P<whole>[0-9]{1,15})(?:\.(?P<cents>[0-9]{2})(?![0-9])|(?P<decimals>\.[0-9]{1,15}))?"
    r"(?P<scale>\s(?:thousand|million|billion|trillion)\b)?"
)
_MOST_FIGURES = 12
"""Of a number that is written in words."""

_CURRENCIES = {"$": "dollars", "£": "pounds", "€": "euros"}
_COINS = {"$": "cents", "£": "pence", "€": "cents"}
_SUMS = frozenset({"dollar", "dollars", "pound", "pounds", "euro", "euros"})


def spoken_words(text: str) -> list[str]:
    """Lower-case words without marks; numbers digit by digit, contractions written out, letters for their names, one
    spelling for each word.

    Written out the same way on both sides of a comparison, so it need not be what a speaker would choose.
    """
    plain = _plain(text)
    words = [word for token in _TOKEN.findall(plain) for word in _written_out(token)]
    return numbers_as_digits(_without_and_in_sums(as_letters(words)))


def _plain(text: str) -> str:
    composed = unicodedata.normalize("NFKD", text).replace("\u2019", "'").replace("\u2018", "'")
    # An accent is no end of a word.
    bare = "".join(mark for mark in composed if not unicodedata.combining(mark))
    lowered = letters_apart(_THOUSANDS.sub("", bare)).lower()
    lowered = _CLOCK.sub(lambda m: m[1] if m[2] == "00" else f"{m[1]} {m[2]}", lowered)
    lowered = _MONEY.sub(_sum, lowered)
    return lowered.replace("%", " percent ").replace("&", " and ")


def _sum(match: re.Match[str]) -> str:
    """ "$2.50" as "2 dollars 50 cents", "$2.5 million" as "2.5 million dollars"."""
    sign, amount, scale = match["sign"], match["whole"], match["scale"] or ""
    if match["cents"] and not scale:
        return f"{amount} {_CURRENCIES[sign]} {match['cents']} {_COINS[sign]} "
    decimals = f".{match['cents']}" if match["cents"] else match["decimals"] or ""
    return f"{amount}{decimals}{scale} {_CURRENCIES[sign]} "


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
    if token.endswith("s"):
        return _years(token[:-1])
    if token[-1].isalpha():
        return _ordinal(token[:-2])
    whole, _, decimals = token.partition(".")
    return [whole, "point", *decimals] if decimals else [whole]


def _ordinal(written: str) -> list[str]:
    return ordinal(int(written)).replace("-", " ").split() if len(written) <= _MOST_FIGURES else [written]


def _years(written: str) -> list[str]:
    """ "1980s" as "19 eighties"; what is no decade is a number alone."""
    tens, ones = divmod(int(written[-2:]), 10)
    return [written] if ones else [*([written[:-2]] if written[:-2] else []), _TENS_OF_YEARS[tens]]


def _without_and_in_sums(words: list[str]) -> list[str]:
    """ "two dollars and fifty cents" is said for "$2.50", and "two dollars fifty" too."""
    return [
        word
        for place, word in enumerate(words)
        if not (
            word == "and" and 0 < place < len(words) - 1 and words[place - 1] in _SUMS and is_number(words[place + 1])
        )
    ]
