"""What is asked for of voices: to say a sentence, to be mixed, to be made ready in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from rhapsode.client.plain_json import json_object
from rhapsode.contract.voices.caches import Mode, ShownState

VoiceKind = Literal["own", "built_in"]


@dataclass(frozen=True, slots=True)
class Preview:
    """What the voice is to say; None leaves it to the server."""

    text: str | None = None
    model: str | None = None
    language: str | None = None
    x_vector_only: bool = False
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Blend:
    """A new voice between others. weights: id or name -> its share. slerp keeps to the arc between the embeddings."""

    name: str
    weights: Mapping[str, float]
    method: Literal["slerp", "lerp"] = "slerp"
    model: str | None = None
    description: str = ""

    def body(self) -> dict[str, JsonValue]:
        voices = [{"voice": voice, "weight": weight} for voice, weight in self.weights.items()]
        said = {"name": self.name, "voices": voices, "method": self.method, "model": self.model}
        return json_object({**said, "description": self.description})


@dataclass(frozen=True, slots=True)
class BulkOrder:
    """Which voices are to be made ready, and how.

    voices: ids or names; None for every one of the caller's whose caches are in `state`.
    model: may be left out where only one clones.
    """

    voices: Sequence[str] | None = None
    state: ShownState | None = None
    model: str | None = None
    mode: Mode | None = None
    force: bool = False
    priority: Literal["high", "normal", "low"] = "low"
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])

    def body(self) -> dict[str, JsonValue]:
        how = {"model": self.model, "mode": self.mode, "force": self.force}
        chosen = None if self.voices is not None else json_object({"state": self.state})
        which = {"voices": self.voices, "filter": chosen}
        return json_object({**how, "priority": self.priority, "metadata": self.metadata, **which})
