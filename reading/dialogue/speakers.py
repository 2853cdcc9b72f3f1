"""Who could speak each turn, and what is true of each candidate. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reading.dialogue.narrator import name_narrator, narrator_tags
from reading.dialogue.people import People
from reading.dialogue.scene import Candidate, Scene, kind_of, meant_by
from reading.dialogue.tags import NARRATOR, RELATIVE, Hint, HintKind
from reading.dialogue.turns import Reading, Turn
from reading.dialogue.wording import Wording

MOST_CANDIDATES = 7
_LOOK_BACK = 12
_LOOK_AHEAD = 3
_MEMORY = 80
"""How many paragraphs back to look for candidates if too few are near."""
_SCENE_BREAK = 8
"""A conversation ends after this many paragraphs of narration."""


def scenes(reading: Reading, people: People) -> list[Scene]:
    context = _Context(reading, people)
    result: list[Scene] = []
    for index, turn in enumerate(reading.turns):
        gap = turn.paragraph - reading.turns[index - 1].last if index else _SCENE_BREAK + 1
        if gap > _SCENE_BREAK:
            result.append(Scene([], [], [], []))
        scene = result[-1]
        candidates = context.candidates(index)
        scene.turns.append(turn)
        scene.candidates.append(candidates)
        scene.unary.append(context.features(index, candidates))
        scene.adjacent.append(bool(scene.turns[:-1]) and gap <= 1)
    return result


_NEAR = 10
"""Turns before and after whose tags count."""


@dataclass(frozen=True, slots=True)
class _Around:
    """before, after: how many turns away a tag names a candidate. counts: of such tags.

    recent: people, the last named first. acted: the last who acted first.
    """

    before: dict[Candidate, int]
    after: dict[Candidate, int]
    counts: Counter[Candidate]
    recent: list[int]
    acted: list[int]


def _step(turns: int) -> str:
    return "not" if turns == 0 else str(turns) if turns <= 4 else "6" if turns <= 6 else "10"


def _often(share: float) -> str:
    """Of a person in the tags of the book."""
    if share == 0:
        return "never tagged"
    return next((name for most, name in ((0.01, "rare"), (0.08, "some"), (0.2, "often")) if share < most), "most")


def _rank(one: int, ordered: Sequence[int]) -> int:
    """A place in the order; 5 for a later one or none."""
    return min(5, ordered.index(one)) if one in ordered else 5


def _recent(people: Sequence[Sequence[int]], paragraph: int) -> list[int]:
    """People of the paragraphs before this one, the last first."""
    found: dict[int, None] = {}
    for earlier in range(paragraph - 1, max(-1, paragraph - _MEMORY), -1):
        for person in reversed(people[earlier]):
            found.setdefault(person)
        if len(found) >= MOST_CANDIDATES:
            break
    return list(found)


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
        num_narrators = narrator_tags(reading)
        self.is_first_person = num_narrators > 0
        self._narrator = Candidate(name_narrator(reading, people), NARRATOR)
        self._narrator_share = num_narrators / (len(self._turns) or 1)
        self._nouns = Counter(turn.hint.noun for turn in self._turns if turn.hint.noun)
        self._tagged = [self._of_hint(turn.hint) if turn.hint.kind is HintKind.TAG else None for turn in reading.turns]
        self._wording = Wording([turn.words for turn in reading.turns], self._tagged)

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
        for person, _ in self._in_role(turn.hint).most_common(2):
            add(self._named(person), 16.0)
        for rank, person in enumerate(_recent(self._reading.narrated, turn.paragraph)):
            add(self._named(person), 8.0 - rank)
        if self.is_first_person:
            add(self._narrator, 15.0)
        wanted = turn.hint.sex if turn.hint.kind is HintKind.TAG else ""
        ranked = sorted(
            score, key=lambda each: -(score[each] - (10.0 if wanted and each.sex and each.sex != wanted else 0.0))
        )
        if wanted and turn.hint.pronoun:  # Of a person with a name before.
            named = [each for each in ranked if self._reading.first_named.get(each.person, 0) <= turn.last]
            ranked = named if any(each.sex in {wanted, ""} for each in named) else ranked
        return ranked[:MOST_CANDIDATES] or [Candidate(-1, turn.hint.noun or "")]

    def _in_role(self, hint: Hint) -> Counter[int]:
        """Who is an aunt, if the hint is `her aunt` or `the aunt`."""
        return self._reading.roles.get(hint.head) or Counter() if hint.head else Counter()

    def _named(self, person: int) -> Candidate:
        if person == self._narrator.person:
            return self._narrator
        return Candidate(person, "", self._people.persons[person].sex)

    def _of_hint(self, hint: Hint) -> Candidate | None:
        if hint.person is not None:
            return self._named(hint.person)
        if hint.noun:
            return Candidate(-1, hint.noun, hint.sex)
        if hint.pronoun == NARRATOR and self.is_first_person:
            return self._narrator
        return None

    def features(self, index: int, candidates: Sequence[Candidate]) -> list[list[str]]:
        """Names of what is true of each candidate, alone and together with how the turn is tagged."""
        around = self._around(index)
        kind = kind_of(self._turns[index].hint)
        result: list[list[str]] = []
        for candidate in candidates:
            signs = [*self._signs(index, candidate), *self._near(index, candidate, around)]
            hints = self._hints(index, candidate)
            result.append([*hints, *signs, *(f"{kind}: {sign}" for sign in signs)])
        return result

    def _hints(self, index: int, candidate: Candidate) -> list[str]:
        turn = self._turns[index]
        found = [*self._hint_features(turn.hint, candidate, "1"), *self._hint_features(turn.second, candidate, "2")]
        head = turn.hint.head
        if not head:
            return found
        kind = "kin" if turn.hint.pronoun == RELATIVE else "noun"
        if candidate.noun:
            uses = self._nouns[candidate.noun]
            return [*found, f"noun {head}", f"noun used {'1' if uses <= 1 else '4' if uses <= 4 else 'often'}"]
        have = self._in_role(turn.hint)
        count, most = have[candidate.person], max(have.values(), default=0)
        role = "none have" if not most else "has not" if not count else "has" if count < most else "has most"
        some = "often" if count > 2 else "once"
        return [*found, f"{kind} role {role}", f"{kind} role {role} {some}", f"{kind} {head} has a name"]

    def _signs(self, index: int, candidate: Candidate) -> list[str]:
        turn = self._turns[index]
        found: list[str] = []
        person = candidate.person
        if person in turn.called:
            found.append("called here")
        elif person in turn.mentioned:
            found.append("mentioned here")
        if person in turn.beside and turn.hint.person != person:
            found.append("beside")
        for step, name in ((-1, "before"), (-2, "two before"), (1, "next"), (2, "two next")):
            other = self._turn(index + step, turn.paragraph, 2 * abs(step))
            if other is None:
                continue
            if person in other.called:
                found.append(f"called {name}")
            elif person in other.mentioned:
                found.append(f"mentioned {name}")
            if other.addresses and candidate.sex:
                found.append(f"{name} says sir, " + ("fits" if other.addresses == candidate.sex else "does not fit"))
        if turn.addresses and candidate.sex:
            found.append("says sir to " + ("own sex" if turn.addresses == candidate.sex else "other sex"))
        found.append(self._distance(turn, person, candidate))
        found += self._nearest(turn, candidate)
        if candidate.noun and candidate.noun != NARRATOR:
            found.append("noun")
        elif candidate.noun == NARRATOR:
            found.append("narrator" if self._narrator_share < 0.1 else "talking narrator")
        share = self._tags[person] / self._num_tags if person >= 0 else 0.0
        found.append(_often(share))
        return found

    def _turn(self, index: int, paragraph: int, most: int) -> Turn | None:
        """The turn at `index` if it is at most so many paragraphs away."""
        if 0 <= index < len(self._turns) and abs(self._turns[index].paragraph - paragraph) <= most:
            return self._turns[index]
        return None

    def _around(self, index: int) -> _Around:
        """Who is tagged in the turns around."""
        paragraph = self._turns[index].paragraph
        read = self._reading
        found = _Around({}, {}, Counter(), self._by_recency(index, read.narrated), self._by_recency(index, read.actors))
        for steps, first in ((range(1, _NEAR + 1), found.after), (range(-1, -_NEAR - 1, -1), found.before)):
            for step in steps:
                if self._turn(index + step, paragraph, 3 * _NEAR) is None:
                    break
                tagged = self._tagged[index + step]
                if tagged is not None:
                    first.setdefault(tagged, abs(step))
                    found.counts[tagged] += 1
        return found

    def _by_recency(self, index: int, people: Sequence[Sequence[int]]) -> list[int]:
        """People whom a pronoun of the tag could mean, the last first."""
        hint = self._turns[index].hint
        recent = _recent(people, self._turns[index].paragraph)
        if not hint.sex or hint.person is not None:
            return recent
        return [person for person in recent if self._people.persons[person].sex in {hint.sex, ""}]

    def _near(self, index: int, candidate: Candidate, around: _Around) -> list[str]:
        found = [
            f"tagged {_step(around.before.get(candidate, 0))} before",
            f"tagged {_step(around.after.get(candidate, 0))} after",
            f"tags near {min(4, around.counts[candidate])}",
        ]
        more = sum(count > around.counts[candidate] for count in around.counts.values())
        if around.counts[candidate]:
            found.append(f"rank of tags {min(4, more)} of {min(4, len(around.counts))}")
        found.append(f"recent {_rank(candidate.person, around.recent)}")
        found.append(f"acted {_rank(candidate.person, around.acted)}")
        found.append(f"wording {self._wording.fits(index, candidate)}")
        return found

    def _nearest(self, turn: Turn, candidate: Candidate) -> list[str]:
        """Whether this is whom a pronoun would mean: who acted last, and who was named last."""
        found: list[str] = []
        he = meant_by(turn.hint)
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
        prefix = meant_by(turn.hint)
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
        kind += " " + meant_by(hint)
        if candidate.noun == NARRATOR:
            return [f"{kind}not i"]
        if not candidate.sex:
            return [f"{kind}of unknown sex"]
        return [kind + ("may be it" if candidate.sex == hint.sex else "is another sex")]
