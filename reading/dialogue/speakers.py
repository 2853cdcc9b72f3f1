"""Who speaks each turn: a chain of turns, whose speakers are judged together. Pure.

A score is the sum of weights of what is true of a turn and a candidate, and of two or three turns in a row. The weights
were learnt from marked novels. What comes out are probabilities, by the forward-backward algorithm.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reading.dialogue.people import People
from reading.dialogue.proposal import Sex
from reading.dialogue.tags import RELATIVE, Hint, HintKind
from reading.dialogue.turns import Reading, Turn

MOST_CANDIDATES = 7
_LOOK_BACK = 12
_LOOK_AHEAD = 3
_MEMORY = 80
"""How many paragraphs back to look for candidates if too few are near."""
_SCENE_BREAK = 8
"""A conversation ends after this many paragraphs of narration."""

NARRATOR = "i"


@dataclass(frozen=True, slots=True)
class Candidate:
    """person: an index into the people; -1 for one who has no name. noun: what a nameless one is called.

    The narrator of a story in the first person is the noun `i`.
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


def scenes(reading: Reading, people: People) -> list[Scene]:
    context = _Context(reading, people)
    result: list[Scene] = []
    for index, turn in enumerate(reading.turns):
        gap = turn.paragraph - reading.turns[index - 1].paragraph if index else _SCENE_BREAK + 1
        if gap > _SCENE_BREAK:
            result.append(Scene([], [], [], []))
        scene = result[-1]
        candidates = context.candidates(index)
        scene.turns.append(turn)
        scene.candidates.append(candidates)
        scene.unary.append([context.features(index, candidate) for candidate in candidates])
        scene.adjacent.append(bool(scene.turns[:-1]) and gap <= 1)
    return result


class _Context:
    """What is known around each turn."""

    def __init__(self, reading: Reading, people: People) -> None:
        self._reading = reading
        self._people = people
        self._turns = reading.turns
        self._first_turn: dict[int, int] = {}
        for index, turn in enumerate(reading.turns):
            self._first_turn.setdefault(turn.paragraph, index)
        tags = Counter(
            turn.hint.person for turn in self._turns if turn.hint.kind is HintKind.TAG and turn.hint.person is not None
        )
        self._tags = tags
        self._num_tags = sum(tags.values()) or 1
        narrator = sum(turn.hint.pronoun == NARRATOR and turn.hint.kind is HintKind.TAG for turn in self._turns)
        self.is_first_person = narrator >= max(3, 0.02 * len(self._turns))
        self._narrator_share = narrator / (len(self._turns) or 1)

    def candidates(self, index: int) -> list[Candidate]:
        """People who were named or spoke shortly before, or are named here or soon."""
        turn = self._turns[index]
        score: dict[Candidate, float] = {}

        def add(candidate: Candidate, value: float) -> None:
            score[candidate] = max(score.get(candidate, 0.0), value)

        for hint in (turn.hint, turn.second):
            if (named := self._of_hint(hint)) is not None:
                add(named, 100.0)
        for person in turn.beside:
            add(self._named(person), 50.0)
        for paragraph in range(max(0, turn.paragraph - _LOOK_BACK), turn.paragraph):
            age = turn.paragraph - paragraph
            for person in self._reading.narrated[paragraph]:
                add(self._named(person), 20.0 - age)
        for step in range(1, _LOOK_BACK + 1):
            if index - step < 0:
                break
            other = self._turns[index - step]
            if turn.paragraph - other.paragraph > 2 * _LOOK_BACK:
                break
            if (named := self._of_hint(other.hint)) is not None:
                add(named, 25.0 - step)
            for person in other.called:
                add(self._named(person), 22.0 - step)
        for step in range(1, _LOOK_AHEAD + 2):
            if (
                index + step >= len(self._turns)
                or self._turns[index + step].paragraph - turn.paragraph > 2 * _LOOK_AHEAD
            ):
                break
            other = self._turns[index + step]
            if (named := self._of_hint(other.hint)) is not None:
                add(named, 18.0 - 2 * step)
            for person in other.called:
                add(self._named(person), 17.0 - 2 * step)
        for rank, person in enumerate(self._recent(turn.paragraph)):
            add(self._named(person), 8.0 - rank)
        if self.is_first_person:
            add(Candidate(-1, NARRATOR), 15.0)
        wanted = turn.hint.sex if turn.hint.kind is HintKind.TAG else ""
        ranked = sorted(
            score, key=lambda each: -(score[each] - (10.0 if wanted and each.sex and each.sex != wanted else 0.0))
        )
        return ranked[:MOST_CANDIDATES] or [Candidate(-1, turn.hint.noun or "")]

    def _recent(self, paragraph: int) -> list[int]:
        """People by their last mention in narration before the paragraph."""
        found: dict[int, None] = {}
        for earlier in range(paragraph - 1, max(-1, paragraph - _MEMORY), -1):
            for person in reversed(self._reading.narrated[earlier]):
                found.setdefault(person)
            if len(found) >= MOST_CANDIDATES:
                break
        return list(found)

    def _named(self, person: int) -> Candidate:
        return Candidate(person, "", self._people.persons[person].sex)

    def _of_hint(self, hint: Hint) -> Candidate | None:
        if hint.person is not None:
            return self._named(hint.person)
        if hint.noun:
            return Candidate(-1, hint.noun, hint.sex)
        if hint.pronoun == NARRATOR and self.is_first_person:
            return Candidate(-1, NARRATOR)
        return None

    def features(self, index: int, candidate: Candidate) -> list[str]:
        turn = self._turns[index]
        found = [*self._hint_features(turn.hint, candidate, "1"), *self._hint_features(turn.second, candidate, "2")]
        person = candidate.person
        bare = turn.hint.kind is HintKind.NONE
        if person in turn.called:
            found.append("called here")
        elif person in turn.mentioned:
            found.append("mentioned here")
        if person in turn.beside and turn.hint.person != person:
            found.append("beside")
        for step, name in ((1, "before"), (2, "two before")):
            if index >= step and turn.paragraph - self._turns[index - step].paragraph <= 2 * step:
                other = self._turns[index - step]
                if person in other.called:
                    found.append(f"called {name}")
                elif person in other.mentioned:
                    found.append(f"mentioned {name}")
        if index + 1 < len(self._turns) and self._turns[index + 1].paragraph - turn.paragraph <= 2:
            other = self._turns[index + 1]
            if person in other.called:
                found.append("called next")
            elif person in other.mentioned:
                found.append("mentioned next")
        found.append(self._distance(turn, person, candidate))
        found += self._nearest(turn, candidate)
        if candidate.noun and candidate.noun != NARRATOR:
            found.append("noun")
        elif candidate.noun == NARRATOR:
            found.append("narrator" if self._narrator_share < 0.1 else "talking narrator")
        share = self._tags[person] / self._num_tags if person >= 0 else 0.0
        found.append("never tagged" if share == 0 else "rare" if share < 0.01 else "some" if share < 0.08 else "often")
        if bare:
            found.append(f"bare {found[-1]}")
        return found

    def _nearest(self, turn: Turn, candidate: Candidate) -> list[str]:
        """Whether this is whom a pronoun would mean: who acted last, and who was named last."""
        found: list[str] = []
        he = _meant_by(turn.hint)
        subject = self._reading.subjects[turn.paragraph - 1] if turn.paragraph else None
        if subject is not None and self._of_hint(subject) is not None:
            found.append(f"{he}acted before" if self._of_hint(subject) == candidate else f"{he}another acted before")
        if he:
            for paragraph in range(turn.paragraph - 1, max(-1, turn.paragraph - _LOOK_BACK), -1):
                fitting = [
                    person
                    for person in self._reading.narrated[paragraph]
                    if self._people.persons[person].sex in {turn.hint.sex, ""}
                ]
                if fitting:
                    if fitting[0] == candidate.person:
                        found.append(f"{he}first of sex")
                    if fitting[-1] == candidate.person:
                        found.append(f"{he}last of sex")
                    break
        return found

    def _distance(self, turn: Turn, person: int, candidate: Candidate) -> str:
        """Paragraphs since the narration named this person."""
        prefix = _meant_by(turn.hint)
        for age in range(1, _LOOK_BACK + 1):
            paragraph = turn.paragraph - age
            if paragraph < 0:
                break
            narrated = self._reading.narrated[paragraph]
            if person in narrated or self._speaks_in(paragraph, candidate):
                last = "last" if narrated and narrated[-1] == person else ""
                step = "1" if age == 1 else "2" if age == 2 else "4" if age <= 4 else "8" if age <= 8 else "12"
                return f"{prefix}named {step} ago {last}".strip()
        return f"{prefix}not named before"

    def _speaks_in(self, paragraph: int, candidate: Candidate) -> bool:
        index = self._first_turn.get(paragraph)
        if index is None:
            return False
        return self._of_hint(self._turns[index].hint) == candidate

    def _hint_features(self, hint: Hint, candidate: Candidate, number: str) -> list[str]:
        if hint.kind is HintKind.NONE:
            return []
        kind = f"{hint.kind.name.lower()}{number}"
        named = self._of_hint(hint)
        if named is not None:
            if named == candidate:
                return [f"{kind} is it"]
            if hint.noun and candidate.person >= 0:
                agrees = not (hint.sex and candidate.sex and hint.sex != candidate.sex)
                return [f"{kind} noun " + ("may be it" if agrees else "is another sex")]
            return [f"{kind} is another"]
        if hint.pronoun == NARRATOR:
            return [f"{kind} i"]
        if not hint.sex:
            return []
        kind += " " + _meant_by(hint)
        if candidate.noun == NARRATOR:
            return [f"{kind}not i"]
        if not candidate.sex:
            return [f"{kind}of unknown sex"]
        return [kind + ("may be it" if candidate.sex == hint.sex else "is another sex")]


def _meant_by(hint: Hint) -> str:
    """Who has to be found by sex: `he`, or `her aunt`."""
    if not hint.sex or hint.person is not None or hint.noun:
        return ""
    return "kin " if hint.pronoun == RELATIVE else "he "


def pair_features(scene: Scene, index: int) -> tuple[list[str], list[str]]:
    """Names of the weights for "speaks again" and "speaks as two turns before"."""
    turn = scene.turns[index]
    kind = (
        "bare" if turn.hint.kind is HintKind.NONE else "he" if turn.hint.sex and turn.hint.person is None else "named"
    )
    if turn.continues:
        return ["again continues"], [f"two before {kind}"]
    if index and scene.turns[index - 1].paragraph == turn.paragraph:
        return ["again same paragraph"], [f"two before {kind}"]
    near = "directly" if scene.adjacent[index] else "later"
    before_near = "directly" if index > 0 and scene.adjacent[index - 1] else "later"
    return [f"again {near} {kind}"], [f"two before {near} {before_near} {kind}"]


def probabilities(scene: Scene, weights: Mapping[str, float]) -> list[list[float]]:
    """Of each candidate of each turn."""
    unary = [
        [math.exp(min(50.0, sum(weights.get(name, 0.0) for name in names))) for names in turn] for turn in scene.unary
    ]
    return _forward_backward(scene, unary, weights)


def _factors(scene: Scene, index: int, weights: Mapping[str, float]) -> tuple[float, float]:
    again, two_before = pair_features(scene, index)
    return _factor(again, weights), _factor(two_before, weights)


def _factor(names: Sequence[str], weights: Mapping[str, float]) -> float:
    return math.exp(sum(weights.get(name, 0.0) for name in names))


def _forward_backward(scene: Scene, unary: list[list[float]], weights: Mapping[str, float]) -> list[list[float]]:
    """States are pairs: the speaker of the turn before and of this one."""
    number = len(unary)
    names = scene.candidates
    if number == 1:
        return [_normalised(unary[0])]
    steps = [_factors(scene, index, weights) for index in range(number)]
    pairs: list[list[list[float]]] = []
    first = [
        [unary[0][h] * unary[1][i] * (steps[1][0] if names[0][h] == names[1][i] else 1.0) for i in range(len(names[1]))]
        for h in range(len(names[0]))
    ]
    pairs.append(_scaled(first))
    for t in range(2, number):
        again, two = steps[t]
        last = pairs[-1]
        now: list[list[float]] = []
        for i, middle in enumerate(names[t - 1]):
            row: list[float] = []
            for j, this in enumerate(names[t]):
                total = sum(last[h][i] * (two if old == this else 1.0) for h, old in enumerate(names[t - 2]))
                row.append(total * unary[t][j] * (again if middle == this else 1.0))
            now.append(row)
        pairs.append(_scaled(now))
    result: list[list[float]] = [[]] * number
    back = [[1.0] * len(names[-1]) for _ in names[-2]]
    for t in range(number - 1, 0, -1):
        both = [[pairs[t - 1][i][j] * back[i][j] for j in range(len(names[t]))] for i in range(len(names[t - 1]))]
        result[t] = _normalised([sum(row[j] for row in both) for j in range(len(names[t]))])
        if t == 1:
            result[0] = _normalised([sum(row) for row in both])
            break
        again, two = steps[t]
        earlier: list[list[float]] = []
        for old in names[t - 2]:
            row = []
            for i, middle in enumerate(names[t - 1]):
                row.append(
                    sum(
                        unary[t][j] * back[i][j] * (again if middle == this else 1.0) * (two if old == this else 1.0)
                        for j, this in enumerate(names[t])
                    )
                )
            earlier.append(row)
        back = _scaled(earlier)
    return result


def _normalised(values: Sequence[float]) -> list[float]:
    total = sum(values) or 1.0
    return [value / total for value in values]


def _scaled(rows: list[list[float]]) -> list[list[float]]:
    most = max((value for row in rows for value in row), default=1.0) or 1.0
    return [[value / most for value in row] for row in rows]
