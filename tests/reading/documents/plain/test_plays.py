"""Plays as books print them: who is in the cast speaks, every other name is heard, and a novel is no play."""

from __future__ import annotations

import pytest

from reading.documents.plain.text_document import text_script
from reading.script.script import Script

MODERN = """ACT I

SCENE I. A heath.

_Thunder. Enter three Witches._

FIRST WITCH.
When shall we three meet again?
In thunder, lightning, or in rain?

SECOND WITCH.
When the hurlyburly's done.

FIRST WITCH. [_Aside._] Where the place?

SECOND WITCH.
Upon the heath.

_Macb._ So foul and fair a day I have not seen. I have
Banquo. He is here.

_Ban._ How far is it?

_Macb._ Speak!

FIRST WITCH.

All hail.

SECOND WITCH.
Hail.

_Macb._ Hail.

_Exeunt._
"""
FOLIO = """Enter three Witches.

  1. When shall we three meet againe?
In Thunder, Lightning, or in Raine?
  2. When the Hurley-burley's done

   1. Where the place?
  2. Vpon the Heath

  King. What bloody man is that?
   Mal. This is the Serieant
  King. Say to the King, the knowledge.
   Mal. As thou didst leaue it.
  King. O valiant Cousin.
   Mal. So from that Spring.
  2. There to meet with Macbeth.
  1. I come.
"""


def heard(script: Script) -> list[tuple[str, str]]:
    """Who says what."""
    said: list[tuple[str, str]] = []
    for block in script.blocks:
        inside = [each for each in script.replacements if block.start <= each.start < block.end]
        spoken, at = "", block.start
        for each in inside:
            spoken += script.text[at : each.start] + each.spoken
            at = each.end
        spoken += script.text[at : block.end]
        if spoken.strip():
            said.append((block.spans[0].voicing.speaker, " ".join(spoken.split())))
    return said


def test_without_a_cast_every_name_is_heard_by_itself() -> None:
    said = heard(text_script(MODERN, ()))

    assert {speaker for speaker, _ in said} == {""}
    assert [text for _, text in said][3:7] == [
        "FIRST WITCH.",
        "When shall we three meet again? In thunder, lightning, or in rain?",
        "SECOND WITCH.",
        "When the hurlyburly's done.",
    ]
    assert ("", "Macb.") in said


def test_the_cast_speaks_whatever_its_capitals_and_full_stops() -> None:
    said = heard(text_script(MODERN, (), ("First Witch", "macb.")))

    assert said[3:] == [
        ("First Witch", "When shall we three meet again? In thunder, lightning, or in rain?"),
        ("", "SECOND WITCH."),
        ("", "When the hurlyburly's done."),
        ("", "[Aside.]"),
        ("First Witch", "Where the place?"),
        ("", "SECOND WITCH."),
        ("", "Upon the heath."),
        ("macb.", "So foul and fair a day I have not seen. I have Banquo. He is here."),
        ("", "Ban. How far is it?"),
        ("macb.", "Speak!"),
        ("First Witch", "All hail."),
        ("", "SECOND WITCH."),
        ("", "Hail."),
        ("macb.", "Hail."),
        ("", "Exeunt."),
    ]


def test_speeches_may_follow_each_other_line_by_line() -> None:
    said = heard(text_script(FOLIO, (), ("King", "1")))

    assert ("1", "When shall we three meet againe? In Thunder, Lightning, or in Raine?") in said
    assert ("King", "What bloody man is that?") in said
    assert ("", "This is the Serieant") in said


@pytest.mark.parametrize(
    "text",
    [
        "\n\n".join(["Yes. He went out.", "He said nothing, and she did not.", "No. It was late.", "So it was."] * 9),
        "King. Queen. King.\n\n" * 3,
        "\n\n".join(f"{number}. Item of a list." for number in range(1, 30)),
        "",
    ],
)
def test_what_is_no_play_stays(text: str) -> None:
    script = text_script(text, (), ("Yes", "King"))

    assert {block.spans[0].voicing.speaker for block in script.blocks} <= {""}


def test_names_with_colons_are_a_cast_as_ever() -> None:
    assert heard(text_script("MARY: Good day.\n\nThe end.", (), ("Mary",))) == [
        ("Mary", "Good day."),
        ("", "The end."),
    ]


NOTE = "Transcriber's Note"
STORY = "\n\n".join(f"It was the night of day {number}, and nobody came to the old mill." for number in range(200))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"{NOTE}: Spelling was\nkept.\n\nOne.\n\n{STORY}", f"One.\n\n{STORY}"),
        (f"{NOTE}S\n\nSpelling was kept.\n\n* Page 3 was mended.\n\nOne.\n\n{STORY}", f"One.\n\n{STORY}"),
        (f"{STORY}\n\n[End]\n\n{NOTE.upper()}S:\n\nA list.\n\nOf changes.", f"{STORY}\n\n[End]"),
        (f"{STORY}\n\nThe {NOTE} said so.\n\n{STORY}", f"{STORY}\n\nThe {NOTE} said so.\n\n{STORY}"),
    ],
)
def test_transcribers_notes_at_the_ends_are_not_read(text: str, kept: str) -> None:
    assert text_script(text, ()).text.split() == kept.split()
