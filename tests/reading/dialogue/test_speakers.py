"""Who says each quotation of a story."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading.dialogue.attribution import find_lines, paragraphs, propose_speakers
from reading.dialogue.people import People
from reading.dialogue.proposal import Dialogue
from reading.dialogue.quotations import quotations
from reading.dialogue.turns import find_roles
from reading.dialogue.voicing import voiced_script
from reading.drafting.lines import LinesDamaged, decode_lines, encode_lines
from reading.script.script import Block, BlockKind, Script, VoicedSpan, plain_script
from tests.property_tests import examples

STORY = """Mr. Harding came in from the garden. "Has the post come?" he asked.

"It has," said his daughter Eleanor, "and there is nothing for you but the bill from Puddock."

"Then I shall go back to my bees." He put on his hat again.

"Papa!" cried Eleanor. "You promised to read to Johnny before supper."

"So I did."

Johnny ran in with a book. "The one about the whale!"

"The whale it is," said Mr. Harding.
"""
PAUSE_S = 0.12


def said(text: str) -> list[str]:
    return [text[each.start : each.end] for _, each in find_lines(plain_script(text))]


def spoken_by(dialogue: Dialogue) -> list[str]:
    return [line.speaker for line in dialogue.lines]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('"Yes," she said, "we are."', ['"Yes,"', '"we are."']),
        ("“Yes,” she said. “We are.”", ["“Yes,”", "“We are.”"]),
        ("‘Yes,’ she said. ‘It’s Mary’s.’", ["‘Yes,’", "‘It’s Mary’s.’"]),
        ("'Yes,' she said. 'It's the boys' ball.'", ["'Yes,'", "'It's the boys' ball.'"]),
        ("—Yes, said Mary, we are.\n\n—No.\n\n—Oh!", ["—Yes,", "we are.", "—No.", "—Oh!"]),
        ("“He said ‘no’ to me,” she said.", ["“He said ‘no’ to me,”"]),
        ('He went to the "Boots" again.', []),
        ("No quotation is here.", []),
        ('"It goes on.\n\n"And on."', ['"It goes on.', '"And on."']),
        ('"It never ends, she said.', ['"It never ends, she said.']),
    ],
)
def test_quotations_of_every_kind_of_mark_are_found(text: str, lines: list[str]) -> None:
    assert said(text) == lines


def test_tags_actions_calls_and_turns_name_the_speakers() -> None:
    dialogue = propose_speakers(plain_script(STORY))

    assert spoken_by(dialogue) == [
        "Mr. Harding",
        *("Eleanor", "Eleanor"),
        "Mr. Harding",
        *("Eleanor", "Eleanor"),
        "Mr. Harding",
        "Johnny",
        "Mr. Harding",
    ]
    assert [(each.name, each.sex, each.num_lines) for each in dialogue.characters] == [
        ("Mr. Harding", "male", 4),
        ("Eleanor", "female", 4),
        ("Johnny", "male", 1),
    ]
    assert all(0 < line.probability <= 1 for line in dialogue.lines)
    assert Dialogue.of_rows(dialogue.rows()) == dialogue


def test_a_name_of_no_list_is_found_by_its_tags_alone() -> None:
    text = """Orlin counted the coins again. A voice behind him coughed.

"That is not enough," Orlin said.

"It is all there is," she said.

"Who sent you?" he asked.

"Nobody," said Veshka. "I came myself."

"Is it you?" Orlin asked. "Nobody said so."
"""
    dialogue = propose_speakers(plain_script(text))

    assert {each.name for each in dialogue.characters} == {"Orlin", "Veshka"}
    assert spoken_by(dialogue)[0] == spoken_by(dialogue)[2] == spoken_by(dialogue)[-1] == "Orlin"


def test_a_pronoun_means_nobody_who_is_named_only_later() -> None:
    text = """"Then you knew my father." She sighed. "If only he had come himself!"

"I think he meant to be kind."

"Undoubtedly he did," said Miss Gray.

"Of course," said the old woman, and she gave back the letter.
"""

    assert spoken_by(propose_speakers(plain_script(text)))[0] == "the old woman"


def test_forms_of_a_name_are_one_person() -> None:
    dialogue = propose_speakers(
        plain_script(
            '"Good day," said Frank Churchill.\n\n"Is it?" said Mrs. Churchill.\n\n"It is," said Mr. Churchill.\n\n'
            '"Well, Frank?" said Mrs. Churchill.'
        )
    )

    assert spoken_by(dialogue) == ["Frank Churchill", "Mrs. Churchill", "Frank Churchill", "Mrs. Churchill"]


def people_of(text: str) -> People:
    return People(text, quotations(text, paragraphs(plain_script(text))))


def test_a_son_with_the_short_form_of_his_fathers_name_is_another_person() -> None:
    text = '"No," said Thomas Gradgrind.\n\n' + '"Yes," said Tom. Tom laughed.\n\n' * 10 + '"Oh," said Tom Gradgrind.'

    names = {tuple(person.names) for person in people_of(text).persons}

    assert names == {("Tom", "Tom Gradgrind"), ("Thomas Gradgrind",)}


def test_a_short_form_beside_its_whole_name_is_the_same_person() -> None:
    text = '"No," said Elizabeth Bennet.\n\n' + '"Yes," said Elizabeth.\n\n' * 5 + '"Oh," said Lizzy.'

    (person,) = people_of(text).persons

    assert set(person.names) == {"Elizabeth", "Elizabeth Bennet", "Lizzy"}


def test_the_text_says_who_is_an_aunt_or_an_inspector() -> None:
    text = (
        "Her aunt, Mrs. Norris, came in. Inspector Lee was a tall man. "
        'Eleanor, his daughter, sat down.\n\n"So," said Eleanor.'
    )
    people = people_of(text)

    roles = {noun: [people.persons[person].name for person in held] for noun, held in find_roles(text, people).items()}

    assert roles == {
        "aunt": ["Mrs. Norris"],
        "inspector": ["Inspector Lee"],
        "man": ["Inspector Lee"],
        "daughter": ["Eleanor"],
    }


def test_who_tells_the_story_is_i() -> None:
    text = "\n\n".join(f'"Number {number}," I said.\n\n"No," said Brett.' for number in range(4))

    assert set(spoken_by(propose_speakers(plain_script(text)))) == {"I", "Brett"}


def test_a_line_has_the_id_of_its_words_wherever_it_stands() -> None:
    first = [id for id, _ in find_lines(plain_script('"Yes," he said. "No."\n\n"Yes."'))]
    second = [id for id, _ in find_lines(plain_script('It rained. "No," he said.'))]

    assert first[1] == second[0]
    assert first[2] == f"{first[0]}-2"


def test_a_script_is_spoken_by_the_cast() -> None:
    text = 'It rained.\n\n"Is it late?" he asked. "Yes," said Mary.'
    script = plain_script(text)
    ids = [id for id, _ in find_lines(script)]

    voiced, num_missing = voiced_script(script, {ids[0]: "Tom", ids[1]: "Mary", "00000000": "Bob"}, PAUSE_S)

    spans = [span for block in voiced.blocks for span in block.spans]
    assert [(text[span.start : span.end], span.voicing.speaker, span.pause_after_s) for span in spans] == [
        ("It rained.\n\n", "", None),
        ('"Is it late?"', "Tom", PAUSE_S),
        (" he asked. ", "", None),
        ('"Yes,"', "Mary", PAUSE_S),
        (" said Mary.", "", None),
    ]
    assert num_missing == 1


def test_a_heading_is_the_narrators() -> None:
    text = '"Farewell," Said The Moth"Good night."'
    blocks = (Block(BlockKind.HEADING, (VoicedSpan(0, 25),)), Block(BlockKind.PARAGRAPH, (VoicedSpan(25, len(text)),)))

    assert [text[each.start : each.end] for _, each in find_lines(Script(text, blocks))] == ['"Good night."']


@settings(max_examples=examples(200))
@given(
    st.text(st.sampled_from("\"“”‘’'—- .,!?\n\nabS"), max_size=200),
    st.integers(min_value=1, max_value=7),
)
def test_all_of_a_text_stays_and_is_spoken_once(text: str, width: int) -> None:
    """Also if the text is cut into blocks anywhere."""
    cuts = [*range(0, len(text), width), len(text)]
    blocks = [Block(BlockKind.PARAGRAPH, (VoicedSpan(start, end),)) for start, end in pairwise(cuts) if start < end]
    script = Script(text, tuple(blocks))
    lines = {id: "A" for id, _ in find_lines(script)}
    voiced, num_missing = voiced_script(script, lines, PAUSE_S)

    ends = [0, *(span.end for block in voiced.blocks for span in block.spans)]
    assert [span.start for block in voiced.blocks for span in block.spans] == ends[:-1]
    assert ends[-1] == len(text)
    assert num_missing == 0
    assert len(propose_speakers(script).lines) == len(lines)


def test_stored_lines_are_read_and_those_of_another_version_are_refused() -> None:
    assert decode_lines(encode_lines({"0a0b0c0d": "Mary"})) == {"0a0b0c0d": "Mary"}
    assert decode_lines(b"") == {}
    with pytest.raises(LinesDamaged, match="version 2, made by another Rhapsode"):
        decode_lines(b'{"version": 2, "lines": {}}')
    for damaged in (b"{", b"[]", b"{}", b'{"version": 1, "lines": 3}'):
        with pytest.raises(LinesDamaged):
            decode_lines(damaged)


def test_names_that_are_equally_frequent_stand_in_the_order_of_the_text() -> None:
    names = ["Zadok", "Mabel", "Quentin", "Agnes", "Tobias", "Lavinia", "Ezra", "Phoebe"]
    people = people_of("\n\n".join(f'"Good evening," said {name}.' for name in names))
    assert [person.name for person in people.persons] == names
