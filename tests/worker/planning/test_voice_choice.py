"""Which voice is proposed for a character."""

from __future__ import annotations

from reading.dialogue.proposal import Character, Dialogue, Line, Sex
from worker.planning.preview import choose_voices

VOICES = ("af_heart", "af_bella", "am_adam", "am_echo", "bf_emma")
SEXES: dict[str, Sex] = {"F": "female", "M": "male"}


def dialogue(*speakers: str) -> Dialogue:
    lines = (Line(f"{number:08x}", 0, 3, name, 1.0, "...") for number, name in enumerate(speakers))
    return Dialogue(
        tuple(Character(name, (name,), SEXES.get(name[0], ""), 1) for name in dict.fromkeys(speakers)), tuple(lines)
    )


def test_voices_fit_the_sex_and_differ_from_those_they_talk_with() -> None:
    chosen = choose_voices(dialogue("Mark", "Max", "Fay", "Mark", "I"), VOICES, "af_heart")

    assert {chosen["Mark"], chosen["Max"]} == {"am_adam", "am_echo"}
    assert chosen["Fay"] == "af_bella"
    assert chosen["I"] == "af_heart"


def test_a_model_without_voices_has_none_to_propose() -> None:
    assert choose_voices(dialogue("Mark", "I"), (), "") == {}
