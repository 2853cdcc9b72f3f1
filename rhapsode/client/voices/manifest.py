"""A list of recordings to become voices: a CSV file with a header, or JSON lines.

    name,audio,ref_text,consent
    Ada,takes/ada.wav,"Hello, I am Ada.",I am the speaker

`audio` is a path beside the manifest. Pure but for reading that one file.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class ManifestError(ValueError):
    """The manifest cannot be meant; the message names the line."""


class Entry(BaseModel):
    """One line. `consent` may be left out where the same statement holds for all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    audio: str = Field(min_length=1)
    ref_text: str = ""
    consent: str = ""
    language: str = "auto"
    description: str = ""


@dataclass(frozen=True, slots=True)
class ListedVoice:
    """An entry, where its recording is, and the line that says so."""

    entry: Entry
    recording: Path
    line: int


def read_manifest(path: Path) -> tuple[ListedVoice, ...]:
    """Raises `ManifestError` for what is no manifest, `OSError` when it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ManifestError("not text in UTF-8") from error
    rows = _csv_rows(text) if path.suffix.lower() == ".csv" else _json_rows(text)
    voices = tuple(_listed(path, line, fields) for line, fields in rows)
    if not voices:
        raise ManifestError("no voice is listed")
    return voices


def _csv_rows(text: str) -> Iterable[tuple[int, object]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, restkey="more columns than the header has")
    try:
        for row in reader:
            # A missing or empty cell means the same as a column that is not there.
            yield reader.line_num, {name: value for name, value in row.items() if value}
    except csv.Error as error:
        raise ManifestError(f"line {reader.line_num}: {error}") from error


def _json_rows(text: str) -> Iterable[tuple[int, object]]:
    # Not splitlines: a text may hold one of the other characters that end lines.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except ValueError as error:
            raise ManifestError(f"line {number}: not JSON: {error}") from error


def _listed(manifest: Path, line: int, fields: object) -> ListedVoice:
    try:
        entry = Entry.model_validate(fields)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(map(str, fault["loc"]))
        raise ManifestError(f"line {line}: {where + ': ' if where else ''}{fault['msg']}") from error
    return ListedVoice(entry, manifest.parent / entry.audio, line)
