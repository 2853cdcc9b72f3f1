"""Texts that are no plain novel: told by `I`, plays, letters, verse, marks that do not close, crowds."""

from __future__ import annotations

import pytest

from reading.dialogue.attribution import propose_speakers
from reading.dialogue.proposal import Dialogue
from reading.script.script import plain_script
from worker.planning.preview import choose_voices

WATSON = """"You have been in Kent, Watson," said Holmes.

"How do you know that?" I asked.

"By your boots, my dear Watson."

"I have told nobody," said I.

Lestrade came in. "Good evening, Dr. Watson," cried Lestrade.

"Good evening, Lestrade," I answered.

"What do you say, Watson?" asked Holmes.

"I say that it is late," I replied.

"Come, Watson!" cried Holmes.

"Now?"

"Now, Watson," said Holmes.
"""
PLAY = """Elsinore. A platform before the castle.

BERNARDO. Who's there?

FRANCISCO [peering]. Nay, answer me.

BERNARDO. Long live the king!

FRANCISCO: Bernardo?

[Enter LADY ANNE.]

LADY ANNE. (Aside.) He is late. [She sits.] Good even, sir.
"""


def proposed(text: str) -> Dialogue:
    return propose_speakers(plain_script(text))


def spoken_by(text: str) -> list[str]:
    return [line.speaker for line in proposed(text).lines]


def test_others_tell_the_name_of_who_says_i() -> None:
    assert spoken_by(WATSON) == [
        *("Holmes", "Watson", "Holmes", "Watson", "Lestrade", "Watson"),
        *("Holmes", "Watson", "Holmes", "Watson", "Holmes"),
    ]


def test_a_narrator_with_a_name_has_the_narrators_voice() -> None:
    dialogue = proposed(WATSON)

    (narrator,) = (each for each in dialogue.characters if each.name == "Watson")
    assert narrator.names == ("Watson", "I", "Dr. Watson")
    assert choose_voices(dialogue, ["ryan", "eric", "aiden"], "ryan")["Watson"] == "ryan"


def test_one_whom_the_narration_names_does_not_tell_the_story() -> None:
    text = "\n\n".join(f'"Number {number}, Brett," I said. Brett smiled.\n\n"No," said Brett.' for number in range(8))

    assert set(spoken_by(text)) == {"I", "Brett"}


def test_a_play_is_spoken_by_its_characters_without_directions() -> None:
    dialogue = proposed(PLAY)

    assert [(line.speaker, PLAY[line.start : line.end]) for line in dialogue.lines] == [
        ("Bernardo", "Who's there?"),
        ("Francisco", "Nay, answer me."),
        ("Bernardo", "Long live the king!"),
        ("Francisco", "Bernardo?"),
        ("Lady Anne", "He is late."),
        ("Lady Anne", "Good even, sir."),
    ]
    assert {each.name: each.sex for each in dialogue.characters} == {
        "Bernardo": "",
        "Francisco": "",
        "Lady Anne": "female",
    }


@pytest.mark.parametrize(
    "text",
    [
        "HAMLET. To be,\nor not to be.\n\nOPHELIA. My lord?\n\nHAMLET. No.\n\nOPHELIA. Good.",
        "HAMLET. To be,\nor not to be.\nOPHELIA. My lord?\nHAMLET. No.\nOPHELIA. Good.",
        "HAMLET: To be,\nor not to be.\nOPHELIA: My lord?\nHAMLET: No.\nOPHELIA: Good.",
        "HAMLET [rising] To be,\nor not to be.\n\nOPHELIA. My lord?\n\nHAMLET. No.\n\nOPHELIA (aside) Good.",
    ],
)
def test_short_speeches_and_speeches_without_blank_lines_have_their_speakers(text: str) -> None:
    assert [(line.speaker, text[line.start : line.end]) for line in proposed(text).lines] == [
        ("Hamlet", "To be,\nor not to be."),
        ("Ophelia", "My lord?"),
        ("Hamlet", "No."),
        ("Ophelia", "Good."),
    ]


def test_prose_whose_paragraphs_begin_alike_is_no_play() -> None:
    assert spoken_by('Well. It rained.\n\nWell. It snowed.\n\n"Well," said Tom Lee.\n\nIt rained. It snowed.') == [
        "Tom Lee"
    ]


def test_a_quotation_without_its_end_ends_with_its_paragraph() -> None:
    text = '"It never ends, said Mary.\n\nIt rained.\n\n"It does," said Tom. "I hope so."\n\n"Good," said Mary.'

    lines = [(text[each.start : each.end], each.speaker) for each in proposed(text).lines]

    assert lines[0][0] == '"It never ends, said Mary.'
    assert lines[1:] == [('"It does,"', "Tom"), ('"I hope so."', "Tom"), ('"Good,"', "Mary")]


def test_a_mark_that_was_never_opened_takes_no_narration() -> None:
    text = '"Yes," said Mary.\n\nIt rained." The roof let it in.\n\n"No," said Tom.'
    lines = proposed(text).lines

    assert [(text[each.start : each.end], each.speaker) for each in lines] == [('"Yes,"', "Mary"), ('"No,"', "Tom")]


def test_verse_and_letters_outside_of_marks_are_the_narrators() -> None:
    text = (
        'Mary read.\n\nDear Tom,\n\nI have left. Do not look for me.\n\nYours, Ann\n\n"Poor Ann," said Mary.\n\n'
        "O western wind, when wilt thou blow\nThe small rain down can rain?"
    )

    assert [(text[each.start : each.end], each.speaker) for each in proposed(text).lines] == [('"Poor Ann,"', "Mary")]


@pytest.mark.parametrize("mark", ['"', "“"])
def test_quoted_stanzas_and_letters_stay_with_who_began(mark: str) -> None:
    text = (
        f'{mark}Hear this," said Mary.\n\n{mark}O western wind,\nwhen wilt thou blow\n\n'
        f'{mark}The small rain down can rain?" sang Mary.\n\n{mark}Pretty," said Tom.'
    ).replace('"', "”" if mark == "“" else '"')

    assert spoken_by(text) == ["Mary", "Mary", "Mary", "Tom"]


def test_each_of_500_people_speaks() -> None:
    names = [f"{first}{last} Lee{last}" for first in ("Ka", "Mo", "Tu", "Ri", "Be") for last in _SYLLABLES]
    text = "\n\n".join(f'"I am number {number}," said {name}.' for number, name in enumerate(names))
    dialogue = proposed(text)

    assert [line.speaker for line in dialogue.lines] == names
    assert len(names) == 500
    assert set(choose_voices(dialogue, ["ryan", "eric", "vivian"], "ryan")) == set(names)


_SYLLABLES = [a + b + c for a in "lmnrs" for b in ("an", "el", "in", "or") for c in ("da", "mo", "ta", "vi", "wu")]


@pytest.mark.parametrize("text", ["", "It rained.", "It rained.\n\nNobody spoke.", "* * *"])
def test_a_text_without_quotations_has_no_lines(text: str) -> None:
    assert proposed(text) == Dialogue((), ())
