"""A narration given as a list of entries, each with its own voice, language, pause and instructions. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from reading.script.builder import ScriptBuilder
from reading.script.script import BlockKind, Script, Voicing


class EntryFormatError(ValueError):
    """The bytes are not a list of entries."""


@dataclass(frozen=True, slots=True)
class ScriptEntry:
    """`id`: what the caller calls it. A long entry becomes several segments; no segment holds two entries."""

    text: str
    id: str = ""
    speaker: str = ""
    language: str = ""
    instructions: str | None = None
    seed: int | None = None
    pause_after_s: float | None = None
    speed: float = 1.0
    gain_db: float = 0.0


def encode_entries(entries: Iterable[ScriptEntry]) -> bytes:
    return "".join(f"{json.dumps(asdict(entry))}\n" for entry in entries).encode()


def decode_entries(data: bytes) -> tuple[ScriptEntry, ...]:
    """Raises `EntryFormatError` for what `encode_entries` did not write."""
    try:
        return tuple(ScriptEntry(**json.loads(line)) for line in data.decode().splitlines())
    except (TypeError, ValueError) as error:
        raise EntryFormatError(f"not a list of entries: {error}") from error


def entries_script(entries: Iterable[ScriptEntry]) -> Script:
    builder = ScriptBuilder()
    for entry in entries:
        voicing = Voicing(
            entry.speaker, entry.language, entry.instructions, entry.seed, entry.id, entry.speed, entry.gain_db
        )
        builder.begin_block(BlockKind.ENTRY)
        builder.say(entry.text.strip(), voicing)
        if entry.pause_after_s is not None:
            builder.pause(entry.pause_after_s)
        builder.end_block()
    return builder.build()
