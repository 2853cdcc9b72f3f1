"""A word of a text in Kokoro's phones: of a dictionary, of a known stem, by the names of its letters, or guessed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from worker.engine.kokoro.phones.dictionary import DEFAULT, Accent, Ways, ways_of
from worker.engine.kokoro.phones.endings import from_stem, with_s
from worker.engine.kokoro.phones.heteronyms import added_ways, heteronym
from worker.engine.kokoro.phones.unknown_words import LETTERS, PRIMARY, SECONDARY, VOWELS, guessed

_KEPT_WORDS = 20_000
_LONGEST_SPELLED = 5
_FUNCTION_WORDS = (
    *("act", "add", "ah", "aid", "am", "as", "be", "cap", "dip", "er", "he", "hi", "hm", "hmm", "in", "is", "it", "me"),
    *("mm", "oh", "or", "who"),
)
"""Words of a dictionary that are spelled as nouns, and mostly meant as words where they stand in capitals."""
_BEFORE_LETTERS = ("the", "an", "our", "your", "its", "this")
_OWNED = re.compile("('s)?'?$", re.IGNORECASE)
_LENGTHENED = re.compile(r"(.)\1{2,}")
_PLAIN_LETTERS = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "th", "þ": "th", "ß": "ss", "ı": "i"}
)


def phones_of_word(
    written: str, words: Sequence[str], at: int, accent: Accent, *, vowel_follows: bool | None, among_capitals: bool
) -> str:
    """written: the word as the text has it, with its case. words: lower-case words and signs of the text, this one at
    `at`. vowel_follows: whether the next sound is a vowel, None where the clause ends. among_capitals: it stands beside
    another word in capitals."""
    word = words[at]
    after = words[at + 1] if at + 1 < len(words) else ""
    if (said := _weak_form(written, after, vowel_follows=vowel_follows)) is not None:
        return said
    is_capital = written.isupper() and len(word) > 1
    ways = known_ways(written.replace("’", "'"), accent)
    if ways is None and is_capital and len(word) <= _LONGEST_SPELLED and written.isalpha():
        return spelled(word, accent)
    if ways is None:
        return stressed(unknown(word, accent), written)
    if is_capital and ways.get("NOUN") == "":
        is_word = word in _FUNCTION_WORDS and (at == 0 or words[at - 1] not in _BEFORE_LETTERS)
        return stressed(ways[DEFAULT], written) if is_word or among_capitals else spelled(word, accent)
    if len(ways) > 1:
        return stressed(heteronym(words, at, ways, clause_ends=vowel_follows is None), written)
    return stressed(ways[DEFAULT], written)


def _weak_form(written: str, after: str, *, vowel_follows: bool | None) -> str | None:
    """Of the small words whose sound depends on the next one."""
    word = written.lower()
    if word == "a" and (written == "a" or (after.isalpha() and after not in ("and", "or", "is"))):
        return "ɐ"
    if written == "I":
        return SECONDARY + "I"
    if word == "d'you":
        return "djʊ"
    if word == "an":
        return "ɐn"
    if word == "the":
        return "ði" if vowel_follows else "ðə"
    if word == "to" and vowel_follows is not None:
        return "tʊ" if vowel_follows else "tə"
    if word == "in":
        return PRIMARY + "ɪn" if vowel_follows is None else "ɪn"
    if word == "am" and vowel_follows is not None and written != "AM":
        return "ɐm"
    return None


@lru_cache(_KEPT_WORDS)
def known_ways(word: str, accent: Accent) -> Ways | None:
    """word: with its case and straight apostrophes. What was dropped at an end is said: goin', 'bout."""
    low, bare = word.lower(), word.strip("'")
    plain = plain_letters(bare.lower())
    for form in dict.fromkeys((word, low, bare, bare.lower(), bare.capitalize(), plain)):
        if form and (ways := ways_of(form, accent)):
            return {**ways, **added_ways(form, accent)}
    if low.endswith("in'") and (ways := known_ways(low[:-1] + "g", accent)):
        return {tag: phones.removesuffix("ŋ") + "n" for tag, phones in ways.items()}
    return from_stem(plain, accent) or (from_stem(plain + "'", accent) if low.endswith("s'") else None)


@lru_cache(_KEPT_WORDS)
def unknown(word: str, accent: Accent) -> str:
    """Letters without a vowel are spelled; so is what is not written in Latin letters, by the letters' names."""
    if word.endswith("'s") and (stem := word[:-2]):
        ways = known_ways(stem, accent)
        return with_s(ways[DEFAULT] if ways else unknown(stem, accent), accent)
    letters = "".join(each for each in plain_letters(word) if each in LETTERS)
    short = _LENGTHENED.sub(r"\1\1", letters)
    if short != letters and (ways := known_ways(_LENGTHENED.sub(r"\1", letters), accent)):
        return ways[DEFAULT]
    if any(letter in "aeiouy" for letter in short):
        return guessed(short, accent)
    return spelled(letters, accent) if letters else " ".join(filter(None, (_name(each, accent) for each in word)))


def guessed_stem(written: str, accent: Accent) -> str:
    """The word without an owner's ending if its sound follows from its spelling alone, else nothing.

    written: with its case and straight apostrophes."""
    stem = _OWNED.sub("", written)
    letters = plain_letters(stem.lower())
    if (stem.isupper() and len(stem) <= _LONGEST_SPELLED) or not any(letter in "aeiouy" for letter in letters):
        return ""
    forms = (written, stem, _LENGTHENED.sub(r"\1", letters))
    return "" if any(known_ways(form, accent) for form in forms) else stem


@lru_cache(_KEPT_WORDS)
def spelled(word: str, accent: Accent) -> str:
    """The names of the letters; the last is stressed most."""
    found = (ways_of(letter.upper(), accent) for letter in plain_letters(word) if letter.isalpha())
    names = "".join(ways[DEFAULT] for ways in found if ways)
    head, _, tail = names.replace(PRIMARY, SECONDARY).rpartition(SECONDARY)
    return head + PRIMARY + tail if tail else names


def plain_letters(word: str) -> str:
    """Without accents, as English dictionaries have them."""
    plain = unicodedata.normalize("NFKD", word.translate(_PLAIN_LETTERS))
    return "".join(each for each in plain if not unicodedata.combining(each))


def _name(letter: str, accent: Accent) -> str:
    """Of a Greek or Cyrillic letter; nothing where a sign is no letter of an alphabet."""
    _, _, name = unicodedata.name(letter, "").partition(" LETTER ")
    last = name.split(" ")[-1].lower()
    if not last.isascii() or not last.isalpha() or "SYLLABLE" in name:
        return ""
    ways = known_ways(last, accent)
    return ways[DEFAULT] if ways else spelled(last, accent) if len(last) < 3 else guessed(last, accent)


def stressed(phones: str, written: str) -> str:
    """A capital gives a word without stress some of it, capitals throughout give it much."""
    in_capitals = written.isupper() and len(written) > 1
    if written == written.lower() or PRIMARY in phones or not any(each in VOWELS for each in phones):
        return phones
    if SECONDARY in phones:
        return phones.replace(SECONDARY, PRIMARY, 1) if in_capitals else phones
    at = next(place for place, each in enumerate(phones) if each in VOWELS)
    return phones[:at] + (PRIMARY if in_capitals else SECONDARY) + phones[at:]
