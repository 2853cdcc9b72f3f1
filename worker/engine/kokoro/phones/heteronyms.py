"""Which of its ways a word is said in, by its neighbours: read, live, wind, close, use, record, that, used.

Some words have their own rules (heteronyms.tsv). For the others, the part of speech is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from worker.engine.kokoro.phones.dictionary import DEFAULT, Accent, Ways

NOUN, VERB, ADJECTIVE, PAST, PARTICIPLE, BEFORE_PAUSE = "NOUN", "VERB", "ADJ", "VBD", "VBN", "None"


def heteronym(words: Sequence[str], at: int, ways: Ways, *, clause_ends: bool) -> str:
    """How the word is said. words: lower-case words and signs of the text. clause_ends: behind this word."""
    word = words[at]
    for pattern, tag in _rules().get(word, ()):
        if pattern.search(_context(words, at)):
            return ways.get(tag) or ways[DEFAULT]
    if clause_ends and BEFORE_PAUSE in ways:
        return ways[BEFORE_PAUSE]
    tag = _part_of_speech(words, at)
    if tag == ADJECTIVE and tag not in ways and word not in _classes()["adjectives"]:
        tag = NOUN
    parent = VERB if tag in (PAST, PARTICIPLE) else tag
    return ways.get(tag) or ways.get(parent) or ways[DEFAULT]


def added_ways(word: str, accent: Accent) -> Ways:
    """Ways that the dictionaries lack."""
    return {tag: phones[accent is Accent.BRITISH] for tag, phones in _ADDED.get(word, {}).items()}


def _context(words: Sequence[str], at: int) -> str:
    """What stands around a word, which is itself a low line; a full stop at the ends of the text."""
    return " ".join((*(words[max(0, at - 3) : at] or "."), "_", *(words[at + 1 : at + 3] or ".")))


def _part_of_speech(words: Sequence[str], at: int) -> str:
    """By the word before, adverbs aside, the one before that, and the one behind."""
    class_of = _classes()
    word, after = words[at], words[at + 1] if at + 1 < len(words) else ""
    back = at - 1
    while back >= 0 and at - back < 4 and (words[back] in class_of["adverbs"] or words[back].endswith("ly")):
        back -= 1
    before, earlier = (words[each] if each >= 0 else "" for each in (back, back - 1))
    is_plural = word.endswith("s") and not word.endswith("ss")
    takes_object = after in class_of["starts_object"]
    if before == "and" and _tells_the_past(words[max(0, back - 8) : back]):
        return PAST
    if before in class_of["be"]:
        return PARTICIPLE if word in _PARTICIPLES else ADJECTIVE
    if before in class_of["have"]:
        return PARTICIPLE if word in _PARTICIPLES else NOUN
    if before in class_of["subjects"]:
        return VERB if is_plural or earlier in class_of["auxiliaries"] or word == "use" else PAST
    if before in class_of["before_verb"]:
        return NOUN if is_plural else PAST if word == "read" and _is_past_read(before, earlier) else VERB
    if before in class_of["objects"]:
        return VERB if earlier in class_of["object_verbs"] and not is_plural else NOUN
    if before in class_of["determiners"]:
        return ADJECTIVE if not is_plural and after.isalpha() and not _ends_noun(after) else NOUN
    if before in class_of["prepositions"] or before.endswith("'s"):
        return NOUN
    if not before.isalpha() or before in ("and", "or", "but"):
        return VERB if takes_object and not is_plural else NOUN
    if word == "read":
        return PAST
    follows_plural = before.endswith("s") and not before.endswith(("ss", "us", "is"))
    return VERB if takes_object and follows_plural != is_plural else NOUN


def _tells_the_past(words: Sequence[str]) -> bool:
    """Whether a verb among the words before `and` is in the past."""
    is_past = any(word in _classes()["past_words"] or word.endswith("ed") for word in words)
    return is_past and not _classes()["auxiliaries"] & {*words}


def _is_past_read(before: str, earlier: str) -> bool:
    """Readers tell what they read: the present needs a sign of it."""
    tells = before in ("i", "we", "they", "who")
    return tells and earlier not in _classes()["auxiliaries"] and earlier not in ("if", "when", "as", "how", "what")


def _ends_noun(after: str) -> bool:
    """A word that may follow a noun, but no adjective."""
    names = ("prepositions", "be", "have", "before_verb", "determiners", "conjunctions")
    return any(after in _classes()[name] for name in names)


@cache
def _rules() -> Mapping[str, Sequence[tuple[re.Pattern[str], str]]]:
    found: dict[str, list[tuple[re.Pattern[str], str]]] = {}
    for names, pattern, tag in _rows("heteronyms.tsv"):
        for name in names.split():
            found.setdefault(name, []).append((re.compile(rf"(?:^|\s)(?:{pattern})(?:\s|$)"), tag))
    return found


@cache
def _classes() -> Mapping[str, frozenset[str]]:
    return {name: frozenset(words.split()) for name, words in _rows("word_classes.tsv")}


def _rows(name: str) -> list[list[str]]:
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


_PARTICIPLES = ("read", "reread", "wound")
_ADDED = {
    "lead": {"METAL": ("lˈɛd", "lˈɛd")},
    "row": {"QUARREL": ("ɹˈW", "ɹˈW")},
    "aged": {ADJECTIVE: ("ˈAʤᵻd", "ˈAʤɪd")},
    "blessed": {ADJECTIVE: ("blˈɛsᵻd", "blˈɛsɪd")},
    "beloved": {ADJECTIVE: ("bəlˈʌvᵻd", "bɪlˈʌvɪd")},
}
