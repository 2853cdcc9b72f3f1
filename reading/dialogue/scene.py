"""Turns that follow each other with who could speak them, and signs of two or three turns in a row. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from reading.dialogue.proposal import Sex
from reading.dialogue.tags import RELATIVE, Hint, HintKind
from reading.dialogue.turns import Turn


@dataclass(frozen=True, slots=True)
class Candidate:
    """person: an index into the people; -1 for one who has no name. noun: what a nameless one is called.

    The narrator of a story in the first person has the noun `i`, with or without a name.
    """

    person: int
    noun: str = ""
    sex: Sex = ""


@dataclass(slots=True)
class Scene:
    """Turns that follow each other. candidates: of each turn. unary: names of what is true of each of them.

    adjacent: whether a turn follows the one before directly.
    """

    turns: list[Turn]
    candidates: list[list[Candidate]]
    unary: list[list[list[str]]]
    adjacent: list[bool]


def pair_features(scene: Scene, index: int) -> tuple[list[str], list[str]]:
    """Names of the weights for "speaks again" and "speaks as two turns before"."""
    turn = scene.turns[index]
    kind = kind_of(turn.hint)
    old = scene.turns[index - 1] if index else None
    if old is None or old.last == turn.paragraph:
        return ["again same paragraph", f"again same paragraph {kind}"], [f"two before {kind}"]
    near = "directly" if scene.adjacent[index] else "later"
    before_near = "directly" if index > 0 and scene.adjacent[index - 1] else "later"
    gap = str(turn.paragraph - old.last)
    asked = "answer" if old.asks else "ask" if turn.asks else "talk"
    again = [
        f"again {near} {kind}",
        f"again {gap}",
        f"again {near} {kind} {kind_of(old.hint)}",
        f"again {near} {asked}",
    ]
    two = [f"two before {near} {before_near} {kind}", f"two before {near} {before_near} {kind} {kind_of(old.hint)}"]
    if index > 1:
        span = turn.paragraph - scene.turns[index - 2].last
        two.append(f"two before {min(6, span)} {asked}")
    return again, two


def kind_of(hint: Hint) -> str:
    """How a turn is tagged."""
    if hint.kind is HintKind.NONE:
        return "bare"
    if hint.person is not None:
        return "named" if hint.kind is HintKind.TAG else "acts"
    return (meant_by(hint).strip() or "noun") + ("" if hint.kind is HintKind.TAG else " acts")


def meant_by(hint: Hint) -> str:
    """Who has to be found by sex: `he`, or `her aunt`."""
    if not hint.sex or hint.person is not None or hint.noun:
        return ""
    return "kin " if hint.pronoun == RELATIVE else "he "
