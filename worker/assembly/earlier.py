"""What the assembly before this one made: of it, what did not change is taken as it is."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from pydantic import TypeAdapter, ValidationError

from storage.errors import ArtifactMissing
from storage.jobs.chapter_files import ChapterFile, as_artifact, decode_chapter_files, list_name
from storage.jobs.record import ArtifactRecord
from storage.jobs.work_items import ClaimedItem
from storage.objects.store import ArtifactStore
from storage.segments.file import SegmentHeader
from storage.segments.timeline import Placed
from storage.segments.tried import StoredAttempt
from worker.assembly.audio.levels import MeasuredLevel
from worker.assembly.audio.speaker_levels import SpeakerLevel
from worker.engine.interface import CodecFrames

CODES_NAME, MANIFEST_NAME = "codes.safetensors", "manifest.json"
_NUMBER = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """A segment's in the manifest."""

    voice: str
    seed: int
    finish_reason: str
    pauses: Mapping[str, int]
    tried: tuple[StoredAttempt, ...]
    revision: str
    config_sha256: str | None
    text_sha256: str

    def header(self, item: ClaimedItem, placed: Placed, sample_rate_hz: int) -> SegmentHeader:
        """Of the segment's file, as far as an assembly asks for it."""
        return SegmentHeader(
            item.lease.job,
            placed.planned.index,
            placed.result.fence,
            self.text_sha256,
            self.seed,
            self.finish_reason,
            item.narration.model,
            self.revision,
            sample_rate_hz,
            self.voice,
            checks=next((each.checks for each in self.tried if each.seed == self.seed), {}),
            config_sha256=self.config_sha256 or "",
            tried=self.tried,
            pauses_held=self.pauses["held"],
            pauses_left=self.pauses["left"],
        )


@dataclass(frozen=True, slots=True)
class Made:
    """What the files of chapters were made from, by digests. levels: of chapters by what is said in them.

    files: for each format the content of each chapter's file.
    """

    levels: Mapping[str, MeasuredLevel] = field(default_factory=dict[str, MeasuredLevel])
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


@dataclass(frozen=True, slots=True)
class _Manifest:
    speakers: tuple[SpeakerLevel, ...] = ()
    made: Made = field(default_factory=Made)


@dataclass(frozen=True, slots=True)
class _Rows:
    segments: tuple[SegmentRow, ...] = ()


_MANIFEST, _ROWS = TypeAdapter(_Manifest), TypeAdapter(_Rows)

Codes = Callable[[int, int], Iterator[CodecFrames]]


@dataclass(frozen=True, slots=True)
class Earlier:
    """speech: the digest of its artifacts. speakers: their levels. rows: of all segments; empty where they cannot be
    taken. codes: frames of a stretch. lists: the files of chapters with their keys, for each format.
    """

    speech: str = ""
    speakers: tuple[SpeakerLevel, ...] = ()
    made: Made = field(default_factory=Made)
    rows: Sequence[SegmentRow] = ()
    codes: Codes = lambda first, end: iter([np.zeros((0, 0), np.int16)] * (end - first))
    lists: Mapping[str, Sequence[tuple[ChapterFile, str]]] = field(
        default_factory=dict[str, Sequence[tuple[ChapterFile, str]]]
    )

    def files(self, form: str) -> dict[str, tuple[ChapterFile, str]]:
        """By what they were made from."""
        return dict(zip(self.made.files.get(form, ()), self.lists.get(form, ()), strict=False))


def earlier_assembly(artifacts: Sequence[ArtifactRecord], store: ArtifactStore) -> Earlier:
    """What the job has now; nothing of what is lost, damaged, or of a release that wrote otherwise."""
    named = {each.name: each for each in artifacts}
    if MANIFEST_NAME not in named:
        return Earlier()
    try:
        data = store.get(named[MANIFEST_NAME].key)
        head = _MANIFEST.validate_json(data)
    except (ArtifactMissing, ValidationError):
        return Earlier()
    speakers_alone = Earlier(named[MANIFEST_NAME].speech, head.speakers)
    try:
        lists = {
            form: [(each, as_artifact(each, listing).key) for each in decode_chapter_files(store.get(listing.key))]
            for form in head.made.files
            for listing in [named[list_name(form)]]
        }
        codes = {"codes": stored_codes(store, named[CODES_NAME].key)} if CODES_NAME in named else {}
    except (ArtifactMissing, KeyError):
        return speakers_alone
    if not lists:
        return speakers_alone
    rows = _ROWS.validate_json(data).segments
    return replace(speakers_alone, made=head.made, rows=rows, lists=lists, **codes)


def stored_codes(store: ArtifactStore, key: str) -> Codes:
    """The frames of a file as `CodesFile` makes it. Raises `ArtifactMissing`."""
    body = _NUMBER.size + _NUMBER.unpack(store.get_range(key, 0, _NUMBER.size))[0]
    table = json.loads(store.get_range(key, _NUMBER.size, body - _NUMBER.size))
    begin, num_bytes = table["segment_offsets"]["data_offsets"]
    offsets = np.frombuffer(store.get_range(key, body + begin, num_bytes - begin), "<i8").tolist()
    start, num_codebooks = body + table["codes"]["data_offsets"][0], table["codes"]["shape"][1]

    def frames(first: int, end: int) -> Iterator[CodecFrames]:
        row_bytes, begin = 2 * num_codebooks, offsets[first]
        data = store.get_range(key, start + begin * row_bytes, (offsets[end] - begin) * row_bytes)
        rows = np.frombuffer(data, "<i2").astype(np.int16, copy=False).reshape(-1, num_codebooks)
        for index in range(first, end):
            yield rows[offsets[index] - begin : offsets[index + 1] - begin]

    return frames
