"""What the narration beside a quotation says of its speaker: a tag (`said Mary`), or an action. Pure."""

from __future__ import annotations

import enum
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from reading.dialogue.people import People
from reading.dialogue.proposal import Sex
from reading.languages.vocabulary import FEMALE_NOUNS, MALE_NOUNS, PERSON_NOUNS, SPEECH_VERBS, words


class HintKind(enum.IntEnum):
    """From the weakest to the strongest."""

    NONE = 0
    LEAD_IN = 1
    """The paragraph before ends with this person's action or with a colon."""
    ACTION = 2
    """This person acts in the same paragraph."""
    TAG = 3
    """A verb of speech."""


@dataclass(frozen=True, slots=True)
class Hint:
    """person: a person of the text; None for a pronoun or a noun. pronoun: as written, in small letters.

    noun: `the old man`, in small letters. sex: of the pronoun or noun. head: `man`, also of `her man`.
    """

    kind: HintKind
    person: int | None = None
    pronoun: str = ""
    noun: str = ""
    sex: Sex = ""
    head: str = ""


NO_HINT = Hint(HintKind.NONE)


@dataclass(frozen=True, slots=True)
class Token:
    """kind: one of `n` (a name), `p` (a pronoun), `d` (the, a, his ...), `v` (a verb of speech), `w`, `.` and `,`."""

    kind: str
    text: str
    person: int = -1


_TOKEN = re.compile(r"[A-Za-zÀ-ÿ]+(?:['’-][A-Za-zÀ-ÿ]+)*|\d+|--|[^\w\s]")
_PRONOUNS: dict[str, Sex] = {"he": "male", "she": "female", "i": "", "they": "", "we": "", "it": ""}
_DETERMINERS = words("the a an his her my their our another this that one your")
_POSSESSIVES = frozenset(["his", "her", "my", "their", "our", "your"])
NARRATOR = "i"
"""The pronoun of who tells a story in the first person."""
RELATIVE = "relative"
"""In place of a pronoun: `her aunt` is a person who has a name elsewhere."""
_STOPS = frozenset('.!?;:"“”')
_MOST_TOKENS = 40


def tokens(text: str, start: int, end: int, people: People, starts: Sequence[int]) -> list[Token]:
    """The narration of [start, end)."""
    result: list[Token] = []
    at = start
    mentions = people.mentions
    index = bisect_left(starts, start)
    while at < end:
        mention = mentions[index] if index < len(mentions) and mentions[index].start < end else None
        stop = mention.start if mention is not None else end
        for match in _TOKEN.finditer(text, at, stop):
            result.append(_plain(match[0]))
        if mention is None:
            break
        result.append(Token("n", text[mention.start : mention.end], mention.person))
        at, index = mention.end, index + 1
        if text[at : at + 2] in {"'s", "’s"}:
            result[-1] = Token("w", "'s", mention.person)
            at += 2
    return result


def _plain(word: str) -> Token:
    lower = word.lower()
    if lower in _PRONOUNS:
        return Token("p", lower)
    if lower in _DETERMINERS:
        return Token("d", lower)
    if lower in SPEECH_VERBS:
        return Token("v", lower)
    if word in _STOPS:
        return Token(".", word)
    if not word[0].isalnum():
        return Token(",", word)
    return Token("w", lower if not word[0].isupper() else word)


def after(found: Sequence[Token]) -> Hint | None:
    """Of the narration that follows a quotation."""
    clause = _first_sentence(found[:_MOST_TOKENS])
    if clause and clause[0].kind == "w" and clause[0].text[0].isupper():
        return action(clause)
    for at, token in enumerate(clause[:8]):
        if token.kind == "v":
            subject = _subject(clause, at + 1, 4)
            if subject is not None and (at == 0 or not any(each.kind in "np" for each in clause[:at])):
                return _tag(subject)
            before = _last_subject(clause[:at])
            if before is not None:
                return _tag(before)
    subject = _subject(clause, 0, 2)
    if subject is not None and any(token.kind == "v" for token in clause):
        return _tag(subject)
    return None if subject is None else _action(subject)


def before(found: Sequence[Token]) -> Hint | None:
    """Of the narration that leads to a quotation: its last sentence."""
    last = _last_sentence(found)
    if not last:
        return None
    said = [at for at, token in enumerate(last) if token.kind == "v"]
    if said:
        subject = _last_subject(last[: said[-1]]) or _subject(last, said[-1] + 1, 3)
        first = _first_subject(last[: said[-1]])
        chosen = first if first is not None and subject is not None and subject.pronoun == "it" else subject
        if chosen is not None:
            return _tag(chosen)
    subject = _first_subject(last)
    return None if subject is None else _action(subject)


def action(found: Sequence[Token]) -> Hint | None:
    """Who acts in the first sentence of some narration."""
    subject = _first_subject(_first_sentence(found))
    return None if subject is None else _action(subject)


def actors(found: Sequence[Token]) -> list[int]:
    """The named people who act, one of each sentence, in order."""
    result: list[int] = []
    start = 0
    for at in (*(at for at, token in enumerate(found) if token.kind == "."), len(found)):
        subject = _first_subject(found[start:at])
        if subject is not None and subject.person is not None:
            result.append(subject.person)
        start = at + 1
    return result


def leads_in(found: Sequence[Token]) -> bool:
    """Whether some narration ends with `she said:` or `he asked,`."""
    return bool(found) and found[-1].text in {",", ":"}


def _first_sentence(found: Sequence[Token]) -> Sequence[Token]:
    return found[: next((at for at, token in enumerate(found) if token.kind == "." and at > 0), len(found))]


def _last_sentence(found: Sequence[Token]) -> Sequence[Token]:
    end = len(found)
    while end and found[end - 1].kind in ".,":
        end -= 1
    start = end
    while start and found[start - 1].kind != ".":
        start -= 1
    return found[start:end]


def _tag(subject: Hint) -> Hint:
    return replace(subject, kind=HintKind.TAG)


def _action(subject: Hint) -> Hint:
    return replace(subject, kind=HintKind.ACTION)


def _subject(found: Sequence[Token], start: int, most: int) -> Hint | None:
    """The person at or soon behind `start`."""
    for at in range(start, min(len(found), start + most)):
        token = found[at]
        if token.kind == "n":
            return Hint(HintKind.NONE, person=token.person)
        if token.kind == "p" and token.text not in {"it", "they", "we"}:
            return Hint(HintKind.NONE, pronoun=token.text, sex=_PRONOUNS[token.text])
        if token.kind == "d":
            return _noun(found, at)
        if token.kind in ".,v" and at > start:
            return None
    return None


def _noun(found: Sequence[Token], at: int) -> Hint | None:
    """`the old man`, `her aunt`, `the Hatter`: a determiner and up to four words, the last of a person."""
    words = [found[at].text]
    best: Hint | None = None
    for token in found[at + 1 : at + 6]:
        if token.kind == "n":
            return Hint(HintKind.NONE, person=token.person)
        if token.kind != "w":
            break
        words.append(token.text.lower())
        head = token.text.lower().removesuffix("'s").removesuffix("’s")
        if head != token.text.lower():
            best = None
            continue
        if head in PERSON_NOUNS:
            sex: Sex = "male" if head in MALE_NOUNS else "female" if head in FEMALE_NOUNS else ""
            if found[at].text in _POSSESSIVES:
                best = Hint(HintKind.NONE, pronoun=RELATIVE, sex=sex, head=head)
            else:
                best = Hint(HintKind.NONE, noun=" ".join(words), sex=sex, head=head)
    return best


def _last_subject(found: Sequence[Token]) -> Hint | None:
    return next(_subjects(found, reversed(range(len(found)))), None)


def _first_subject(found: Sequence[Token]) -> Hint | None:
    return next(_subjects(found, range(len(found))), None)


def _subjects(found: Sequence[Token], places: Iterable[int]) -> Iterator[Hint]:
    for at in places:
        if found[at].kind in "npd" and not _is_object(found, at) and (subject := _subject(found, at, 1)) is not None:
            yield subject


_PREPOSITIONS = words(
    """
    to at of with by for from in on upon towards toward into over under about after before between behind beside
    near against through without than like
    """
)


def _is_object(found: Sequence[Token], at: int) -> bool:
    return at > 0 and found[at - 1].kind == "w" and found[at - 1].text.lower() in _PREPOSITIONS
