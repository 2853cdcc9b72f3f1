"""Letters that are read by their names, and words that sound as a letter does, as that letter. Pure.

The front end writes "eff bee eye" for FBI, since a checkpoint that learned from words knows no letters; a recogniser
writes "FBI", "F.B.I." or "f b i". Nothing audible is lost if "see", "sea" and C are equal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reading.english.letters.acronym_lists import BY_LETTER

_SOUNDS = """
    a ay eh, b be bee, c sea see, d dee, e ee, f eff, g gee jee, h aitch, i eye, j jay, k kay, l ell, m em, n en,
    o oh owe, p pea pee, q cue queue, r ar are, s es ess, t tea tee, u you, v vee, x ex, y why, z zed zee
"""
_LETTERS = {name: letter for letter, *names in (each.split() for each in _SOUNDS.split(",")) for name in names}
"""To the letter; W is two words and is made of them."""

_PLURAL_NAMES = dict(
    zip(
        "abcdefghijklmnopqrstuvwxyz",
        (
            *("ays", "bees", "sees", "dees", "ees", "effs", "jees", "aitches", "eyes", "jays", "kays", "ells", "ems"),
            *("ens", "ohs", "pees", "cues", "ars", "esses", "tees", "yous", "vees", "double yous", "exes", "whys"),
            "zees",
        ),
        strict=True,
    )
)
_DEGREES = {"PhD": "P H D", "BSc": "B S C", "MSc": "M S C"}

_CAPITALS = re.compile(r"(?<![A-Za-z'])(?P<letters>[A-Z]{2,6})(?P<plural>'?s)?(?![A-Za-z])")
_DOTTED = re.compile(r"(?<![A-Za-z'.])(?P<letters>(?:[A-Za-z]\.){1,6}[A-Za-z])\.?(?P<plural>'?s)?(?![A-Za-z])")
_DEGREE = re.compile(r"\b(?:PhD|BSc|MSc)(?=s?\b)")
_HALF_OF_DAY = re.compile(r"(?<=[0-9])\s?(?P<half>[AaPp])\.?[Mm](?![A-Za-z])\.?")
_VOWEL = re.compile(r"[AEIOUY]")
_LOWER = re.compile(r"[a-z]")


def letters_apart(text: str) -> str:
    """The text with a space between letters that are read one by one; capitals still count."""
    is_loud = not _LOWER.search(text)
    apart = _HALF_OF_DAY.sub(lambda found: f" {found['half']} m ", text)
    apart = _DEGREE.sub(lambda found: _DEGREES[found.group()], apart)
    apart = _DOTTED.sub(lambda found: _spelled(found["letters"].replace(".", ""), found["plural"]), apart)
    return _CAPITALS.sub(
        lambda found: (
            _spelled(found["letters"], found["plural"])
            if _is_by_letter(found["letters"], is_loud=is_loud)
            else found[0]
        ),
        apart,
    )


def _is_by_letter(word: str, *, is_loud: bool) -> bool:
    """is_loud: all of the text is in capitals, so that "US" may be the pronoun."""
    if word in BY_LETTER:
        return True
    if word == "US":
        return not is_loud
    return len(word) <= 5 and not _VOWEL.search(word) and not set(word) <= set("IVXLCDM")


def _spelled(letters: str, plural: str | None) -> str:
    if not plural:
        return f" {' '.join(letters)} "
    return f" {' '.join(letters[:-1])} {_PLURAL_NAMES[letters[-1].lower()]} "


def as_letters(words: Sequence[str]) -> list[str]:
    """words: in lower case. Each that sounds as a letter is that letter."""
    letters: list[str] = []
    for word in words:
        letter = _LETTERS.get(word, word)
        if letter == "u" and letters and letters[-1] == "double":
            letters[-1] = "w"
        else:
            letters.append(letter)
    return letters
