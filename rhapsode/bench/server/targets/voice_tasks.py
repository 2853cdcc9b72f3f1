"""Whose voice is asked for: one that the model has, one made from words, or that of a recording which goes along."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from rhapsode.bench.server.orders import Speaking, Task

EVERY_TASK = frozenset(Task)

_FAMILY_NAMES = {
    Task.CUSTOM_VOICE: "CustomVoice",
    Task.VOICE_DESIGN: "VoiceDesign",
    Task.X_VECTOR: "Base",
    Task.IN_CONTEXT: "Base",
}


def family_fields(speaking: Speaking) -> Mapping[str, JsonValue]:
    """In the words of vLLM-Omni's call, which ours takes as well; nothing where no task was named."""
    if speaking.task is None:
        return {}
    return {"task_type": _FAMILY_NAMES[speaking.task], **_recording(speaking, "x_vector_only_mode")}


def job_fields(speaking: Speaking) -> Mapping[str, JsonValue]:
    """Of a job of ours: the model is chosen by what comes along."""
    return _recording(speaking, "x_vector_only")


def _recording(speaking: Speaking, embedding_alone: str) -> dict[str, JsonValue]:
    match speaking.task:
        case Task.X_VECTOR:
            return {"ref_audio": speaking.reference, embedding_alone: True}
        case Task.IN_CONTEXT:
            return {"ref_audio": speaking.reference, "ref_text": speaking.reference_text}
        case _:
            return {}
