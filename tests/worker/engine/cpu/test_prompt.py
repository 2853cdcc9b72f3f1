"""What is asked for and cannot be had is rejected with what can; rows themselves are compared in test_parity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from worker.engine.errors import RequestRejected
from worker.engine.interface import (
    BuiltInSpeaker,
    Conditioning,
    DesignedVoice,
    InContextPrompt,
    SpeechRequest,
    XVectorPrompt,
)

EMBEDDING = np.zeros(64, dtype=np.float32)
CODES = np.zeros((5, 16), dtype=np.int16)


def request(conditioning: Conditioning, text: str = "Hi.", language: str = "auto") -> SpeechRequest:
    return SpeechRequest("one", text, conditioning, language)


@pytest.mark.parametrize(
    ("variant", "conditioning", "complaint"),
    [
        ("custom_voice", BuiltInSpeaker("nobody"), "unknown speaker 'nobody'; this checkpoint has serena, vivian"),
        ("custom_voice", DesignedVoice("old"), "speaks with one of its built-in speakers: serena"),
        ("voice_design", BuiltInSpeaker("ryan"), "speaks with a description of the voice"),
        ("base", BuiltInSpeaker("ryan"), "speaks with a recorded voice"),
        ("base", XVectorPrompt(EMBEDDING[:-1]), r"has shape \(63,\), this checkpoint needs \(64,\)"),
        ("base", XVectorPrompt(EMBEDDING + np.nan), "is not finite"),
        ("base", InContextPrompt(EMBEDDING, CODES[:, :3], "Hello."), r"have shape \(5, 3\)"),
        ("base", InContextPrompt(EMBEDDING, CODES[:0], "Hello."), r"have shape \(0, 16\)"),
        ("base", InContextPrompt(EMBEDDING, CODES + 64, "Hello."), "outside 0 to 63"),
        ("base", InContextPrompt(EMBEDDING, CODES, " \n"), "the reference text is empty"),
        ("base", InContextPrompt(EMBEDDING, CODES, "Hello.", (3, -1)), "ids outside 0 to"),
        ("base", InContextPrompt(EMBEDDING, CODES, "Hello.", (3, 1 << 20)), "ids outside 0 to"),
    ],
)
def test_wrong_conditioning_is_rejected(variant: str, conditioning: Any, complaint: str, rigs: Any) -> None:
    with pytest.raises(RequestRejected, match=complaint):
        rigs[variant].prompts.build(request(conditioning))


@pytest.mark.parametrize("language", ["klingon", "", "sichuan_dialect"])
def test_unknown_languages_are_rejected_with_the_known_ones(language: str, rigs: Any) -> None:
    with pytest.raises(RequestRejected, match="this checkpoint has auto, chinese, english"):
        rigs["custom_voice"].prompts.build(request(BuiltInSpeaker("ryan"), language=language))


@pytest.mark.parametrize("text", ["", " ", "\n\t\n"])
def test_empty_text_is_rejected(text: str, rigs: Any) -> None:
    with pytest.raises(RequestRejected, match="the text is empty"):
        rigs["custom_voice"].prompts.build(request(BuiltInSpeaker("ryan"), text))


def test_space_around_the_text_does_not_reach_the_template(rigs: Any) -> None:
    prompts = rigs["custom_voice"].prompts

    plain = prompts.build(request(BuiltInSpeaker("ryan"), "Hi."))
    spaced = prompts.build(request(BuiltInSpeaker("ryan"), "\n\n Hi.\n"))

    assert plain.text_ids.tolist() == spaced.text_ids.tolist()


def test_a_reference_text_may_come_as_the_ids_it_was_made_of(rigs: Any) -> None:
    prompts = rigs["base"].prompts

    from_text = prompts.build(request(InContextPrompt(EMBEDDING, CODES, " It was dark.\n")))
    ids = prompts.reference_text_ids(" It was dark.\n")
    from_ids = prompts.build(request(InContextPrompt(EMBEDDING, CODES, "never read", ids)))

    assert from_ids.text_ids.tolist() == from_text.text_ids.tolist()


@pytest.mark.parametrize(("variant", "accepts"), [("custom_voice", True), ("voice_design", True), ("base", False)])
def test_what_a_checkpoint_is_decides_whether_it_takes_instructions(variant: str, accepts: bool, rigs: Any) -> None:
    assert rigs[variant].prompts.accepts_instructions is accepts


def test_an_instruction_for_a_size_that_was_trained_without_is_rejected(rigs: Any) -> None:
    from worker.engine.requests.prompt import PromptBuilder

    rig = rigs["custom_voice"]
    small = PromptBuilder(replace(rig.config, model_size="0b6"), rig.prompts._tokenizer)

    assert not small.accepts_instructions
    assert small.build(request(BuiltInSpeaker("ryan", " "))).num_rows > 0
    with pytest.raises(RequestRejected, match="without instructions"):
        small.build(request(BuiltInSpeaker("ryan", "Whisper.")))


def test_a_dialect_speaks_chinese_and_auto_but_no_other_language(rigs: Any) -> None:
    rig = rigs["custom_voice"]
    dialect = rig.config.talker.languages["sichuan_dialect"]

    spoken = {
        language: dialect in rig.prompts.build(request(BuiltInSpeaker("eric"), language=language)).codec_ids
        for language in ("auto", "Chinese", "english")
    }

    assert spoken == {"auto": True, "Chinese": True, "english": False}
