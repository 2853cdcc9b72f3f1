"""Who tells a story in the first person: the one whom others call by name, and whom the narration never names. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from reading.dialogue.people import People
from reading.dialogue.proposal import FIRST_PERSON
from reading.dialogue.tags import NARRATOR, HintKind
from reading.dialogue.turns import Reading, Turn

_LEAST_TAGS = 3
_LEAST_SHARE = 0.02
"""Of the turns, that `I said` tags: fewer make no story in the first person."""
_LEAST_CALLS = 5
_LEAST_ANSWERED = 2
"""Calls beside turns of `I`: fewer are not to the narrator."""
_MOST_NARRATED = 0.5
"""Of a name's mentions. `My name is Pip` and letters are a few."""
_OTHER_NAME = 0.6
"""Another name of the narrator is hardly used but to call: `my dear Doctor`."""


def narrator_tags(reading: Reading) -> int:
    """Turns with a tag as `I said`; 0 if the story is not in the first person."""
    count = sum(map(_is_narrators, reading.turns))
    return count if count >= max(_LEAST_TAGS, _LEAST_SHARE * len(reading.turns)) else 0


def name_narrator(reading: Reading, people: People) -> int:
    """The person who says `I`; -1 if the text does not tell. Other names of that person become this one's."""
    if not narrator_tags(reading):
        return -1
    calls = Counter(person for turn in reading.turns for person in turn.called)
    tags = Counter(turn.hint.person for turn in reading.turns if turn.hint.kind is HintKind.TAG)
    answered = _answered(reading.turns)
    narrated = Counter(mention.person for mention in people.mentions if not mention.in_quotation)
    uses = Counter(mention.person for mention in people.mentions)
    fitting = [
        person
        for person, count in calls.most_common()
        if count >= max(_LEAST_CALLS, 20 * tags[person])
        and answered[person] >= _LEAST_ANSWERED
        and narrated[person] <= _MOST_NARRATED * uses[person]
    ]
    if not fitting:
        return -1
    narrator = fitting[0]
    others = {
        person
        for person in fitting[1:]
        if calls[person] >= max(2 * _LEAST_CALLS, _OTHER_NAME * uses[person])
        and answered[person] > _LEAST_ANSWERED
        and not tags[person]
    }
    _rename(reading, dict.fromkeys(others, narrator))
    found = people.persons[narrator]
    found.names += [name for person in sorted(others) for name in people.persons[person].names]
    found.names.insert(1, FIRST_PERSON)
    return narrator


def _is_narrators(turn: Turn) -> bool:
    return turn.hint.kind is HintKind.TAG and turn.hint.pronoun == NARRATOR


def _answered(turns: list[Turn]) -> Counter[int]:
    """How often others call a person just before or after a turn of `I`, less how often `I` calls that person."""
    counts: Counter[int] = Counter()
    for index, turn in enumerate(turns):
        if _is_narrators(turn):
            counts.subtract(turn.called)
        elif any(
            _is_narrators(other) and abs(other.paragraph - turn.paragraph) <= 2
            for other in (*turns[max(0, index - 1) : index], *turns[index + 1 : index + 2])
        ):
            counts.update(turn.called)
    return counts


def _rename(reading: Reading, names: dict[int, int]) -> None:
    for turn in reading.turns:
        turn.called, turn.mentioned, turn.beside = (
            frozenset(names.get(person, person) for person in group)
            for group in (turn.called, turn.mentioned, turn.beside)
        )
        turn.hint, turn.second = (
            hint if hint.person is None else replace(hint, person=names.get(hint.person, hint.person))
            for hint in (turn.hint, turn.second)
        )
    for group in (*reading.narrated, *reading.actors):
        group[:] = [names.get(person, person) for person in group]
