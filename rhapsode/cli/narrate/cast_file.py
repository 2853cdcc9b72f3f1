"""The file that says who speaks in a book: characters with voices, and a speaker for each quotation. TOML."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rhapsode.cli.failures import Misuse
from rhapsode.cli.narrate.sent_files import readable

if TYPE_CHECKING:
    from rhapsode.contract.plans import ProposedCast

VERSION = 1
SURE = 0.88
"""From this probability on a line needs no check: together, about 95 of 100 such lines are right in marked novels."""


@dataclass(frozen=True, slots=True)
class CastFile:
    """narrator: the voice of all other text. speakers: names and voices. lines: who says or thinks it, by its id."""

    narrator: str
    speakers: dict[str, str]
    lines: dict[str, str]

    @property
    def lines_by_speaker(self) -> dict[str, list[str]]:
        """As a request has them."""
        spoken: dict[str, list[str]] = {}
        for id, name in self.lines.items():
            spoken.setdefault(name, []).append(id)
        return spoken


def read_cast(file: Path) -> CastFile:
    """Raises `Misuse` for a file that is no cast."""
    try:
        held = tomllib.loads(readable(file).read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Misuse(f"--cast {file}: {error}") from error
    if held.get("version") != VERSION:
        raise Misuse(f"--cast {file}: `version = {VERSION}` is missing; `rhapsode cast` writes such a file")
    if (thoughts := held.get("thoughts", "narrator")) not in ("narrator", "character"):
        raise Misuse(f'--cast {file}: `thoughts` is "narrator" or "character"')
    try:
        narrator, characters, lines = str(held["narrator"]), held["characters"], held["lines"]
        voices = {name: _voice(name, characters) for name in characters}
        heard = [line for line in lines if thoughts == "character" or not line.get("thought")]
        spoken = {str(line["id"]): str(line["speaker"]) for line in heard}
    except (AttributeError, KeyError, TypeError) as error:
        raise Misuse(f"--cast {file}: {error!s:.80} is missing or of the wrong kind") from error
    for id, name in spoken.items():
        if name and name not in voices:
            raise Misuse(f"--cast {file}: line {id} is {name!r}'s, who is not among the characters")
    return CastFile(narrator, *_speakers(narrator, voices, {id: name for id, name in spoken.items() if name}))


def _voice(name: str, characters: Mapping[str, Mapping[str, str]]) -> str:
    """Of a character, or of the one whom it is the same as."""
    same = characters[name].get("same_as", name)
    return characters[same]["voice"]


def _speakers(narrator: str, voices: dict[str, str], lines: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Who speaks with another voice than the narrator's. A job has a limited number: the rest go by their voices."""
    from rhapsode.contract.jobs.input import MAX_SPEAKERS

    counts = Counter(name for name in lines.values() if voices[name] != narrator)
    if len(counts) > MAX_SPEAKERS:
        own = {name for name, _ in counts.most_common(MAX_SPEAKERS - len(set(voices.values())))}
    else:
        own = set(counts)
    names = {name: name if name in own else voices[name] for name in counts}
    return {names[name]: voices[name] for name in counts}, {
        id: names[name] for id, name in lines.items() if name in names
    }


def advice(proposed: ProposedCast) -> str:
    """Which lines to check: they are the file's first."""
    num_lines = len(proposed.lines)
    num_unsure = sum(line.probability < SURE for line in proposed.lines)
    if num_unsure == 0:
        return f"All {num_lines:,} lines are at least {SURE:.0%} sure; check a few."
    if num_unsure == num_lines:
        return "Check all lines."
    return f"Check the first {num_unsure:,} of {num_lines:,} lines."


def written_cast(title: str, proposed: ProposedCast, narrator: str) -> str:
    """The file's content."""
    return "\n".join(_written(title, proposed, narrator)) + "\n"


def _written(title: str, proposed: ProposedCast, narrator: str) -> Iterator[str]:
    yield f"# Who speaks in {' '.join(title.split())}: a guess. {advice(proposed)}"
    yield '# Change speakers and voices. same_as = "NAME" in place of a voice makes two names one person.'
    yield '# A line whose speaker is "" is the narrator\'s. Then run: rhapsode narrate BOOK --cast THIS_FILE'
    yield f"version = {VERSION}"
    yield f"narrator = {_quoted(narrator)}"
    if any(line.thought for line in proposed.lines):
        yield 'thoughts = "narrator"  # or "character": each person speaks their own'
    yield "lines = ["
    yield "  # The least certain first. sure: per cent."
    for line in sorted(proposed.lines, key=lambda line: (line.probability >= SURE, line.start)):
        line_fields = {"speaker": line.speaker, "sure": round(100 * line.probability), "thought": line.thought}
        yield f"  {_table(line_fields | {'id': line.id, 'said': line.text})},"
    yield "]"
    yield "[characters]"
    for each in proposed.characters:
        fields: dict[str, object] = {"voice": each.voice, "lines": each.num_lines, "sex": each.sex}
        fields["also"] = [name for name in each.names if name != each.name][:8]
        yield f"{_quoted(each.name)} = {_table(fields)}"


def _table(fields: Mapping[str, object]) -> str:
    """As an inline table of TOML, without what is empty; a speaker may be."""
    kept = {name: value for name, value in fields.items() if value or name == "speaker"}
    return "{ " + ", ".join(f"{name} = {_quoted(value)}" for name, value in kept.items()) + " }"


def _quoted(value: object) -> str:
    """As a value of TOML: its strings, numbers and lists are JSON's, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
