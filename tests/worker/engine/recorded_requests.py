"""What the official package was asked for when its answers were recorded, as requests to an engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from worker.engine.interface import (
    BuiltInSpeaker,
    Conditioning,
    DesignedVoice,
    InContextPrompt,
    SamplingParams,
    SpeechRequest,
    TextMode,
    TokenSampling,
    XVectorPrompt,
)

GREEDY = TokenSampling(temperature=0.0)


def request_of(recorded: Mapping[str, Any], arrays: Mapping[str, Tensor]) -> SpeechRequest:
    """One of `Recording.requests`, to be spoken greedily. arrays: of the same recording."""
    return SpeechRequest(
        request_id=recorded["name"],
        text=recorded["text"],
        conditioning=conditioning_of(recorded, arrays),
        language=recorded["language"],
        text_mode=TextMode(recorded["text_mode"]),
        sampling=SamplingParams(GREEDY, GREEDY, recorded["repetition_penalty"]),
        max_frames=recorded["max_frames"],
    )


def conditioning_of(recorded: Mapping[str, Any], arrays: Mapping[str, Tensor]) -> Conditioning:
    words = recorded["conditioning"]
    if "speaker" in words:
        return BuiltInSpeaker(words["speaker"], words["instruction"])
    if "description" in words:
        return DesignedVoice(words["description"])
    embedding = arrays[f"reference.{words['reference']}.speaker_embedding"].numpy()
    if not words["ref_text"]:
        return XVectorPrompt(embedding)
    return InContextPrompt(embedding, arrays[f"reference.{words['reference']}.ref_code"].numpy(), words["ref_text"])
