"""One synthesised segment as safetensors: samples, codec frames and where they come from. Pure.

    pcm    I16 (N,)    what is heard, edges finished
    codes  I16 (T, Q)  all frames as generated, from which the audio can be made again

The text itself is not in it, only its digest. Read and written with the standard library alone, because the web tier,
which plays finished segments, loads no numpy; `worker.speech.audio.segment_audio` gives the same content as arrays.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from storage.segments.tried import StoredAttempt

SEGMENT_FORMAT = 1
MAX_HEADER_BYTES = 16 * 1024

_LENGTH = struct.Struct("<Q")
_METADATA_KEY = "segment"
ITEM_BYTES = 2


class SegmentFormatError(ValueError):
    """The bytes are not a segment this version can read."""


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """Where a segment comes from.

    text_sha256: of the UTF-8 text that was spoken. voice: the model's own by name, an uploaded one by its content key.
    speaker: the cast's name of who speaks, "" for the job's own voice. attempt: the one that was kept, 0 if silence
    took its place. take: which of the segment's takes this is. checks: what the quality gate measured, by name. flags:
    what it found and could not cure. loudness_lufs: of the samples, None where it is not defined. reused_from: the job
    it was copied from, "" if it was generated for this one. config_sha256: of how its engine was set up, "" if not
    known. tried: every attempt at it, the kept one among them; empty in files of releases before. pauses_held,
    pauses_left: of those between its sentences, how many are as the job wants them, and how many could not be made so.
    peaks: how far the samples reach, a byte for each of stretches of equal length, in base64: what is drawn of it; ""
    in files of releases before. guessed: words whose sound was guessed from their spelling, as far as the engine knows.
    """

    job: str
    index: int
    fence: int
    text_sha256: str
    seed: int
    finish_reason: str
    model: str
    revision: str
    sample_rate_hz: int
    voice: str = ""
    format: int = SEGMENT_FORMAT
    speaker: str = ""
    language: str = ""
    attempt: int = 1
    take: int = 1
    checks: Mapping[str, float] = field(default_factory=dict[str, float])
    flags: tuple[str, ...] = ()
    loudness_lufs: float | None = None
    reused_from: str = ""
    config_sha256: str = ""
    tried: tuple[StoredAttempt, ...] = ()
    pauses_held: int = 0
    pauses_left: int = 0
    peaks: str = ""
    guessed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredSegment:
    """A segment's content as it lies in the file: little-endian 16-bit integers.

    pcm: N samples. codes: T frames of Q = `num_codebooks` entries, frame after frame; 0 by 0 of a model without codes.
    """

    header: SegmentHeader
    pcm: bytes | memoryview
    codes: bytes | memoryview
    num_codebooks: int

    def __post_init__(self) -> None:
        if len(self.pcm) % ITEM_BYTES:
            raise SegmentFormatError(f"{len(self.pcm)} bytes of samples")
        if self.num_codebooks < 0 or len(self.codes) != self.num_frames * ITEM_BYTES * self.num_codebooks:
            raise SegmentFormatError(f"{len(self.codes)} bytes are no frames of {self.num_codebooks} codes")

    @property
    def num_samples(self) -> int:
        return len(self.pcm) // ITEM_BYTES

    @property
    def num_frames(self) -> int:
        return len(self.codes) // (ITEM_BYTES * self.num_codebooks) if self.num_codebooks else 0


@dataclass(frozen=True, slots=True)
class _Entry:
    """One tensor of the file's table: where it lies behind the header."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


_HEADER = TypeAdapter(SegmentHeader)
_ENTRY = TypeAdapter(_Entry)


def encode_segment(segment: StoredSegment) -> bytes:
    """Equal segments give equal bytes."""
    facts = json.dumps(_HEADER.dump_python(segment.header, mode="json"))
    end = len(segment.codes)
    table = {
        "__metadata__": {_METADATA_KEY: facts},
        "codes": _entry((segment.num_frames, segment.num_codebooks), 0, end),
        "pcm": _entry((segment.num_samples,), end, end + len(segment.pcm)),
    }
    head = json.dumps(table, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    return b"".join((_LENGTH.pack(len(head)), head, segment.codes, segment.pcm))


def decode_segment(data: bytes) -> StoredSegment:
    """Samples and frames are views of `data`. Raises `SegmentFormatError` for what `encode_segment` never wrote."""
    table, body = _split(data)
    header = _header(table.pop("__metadata__", None))
    if table.keys() != {"pcm", "codes"}:
        raise SegmentFormatError(f"a segment holds pcm and codes, not {sorted(name[:40] for name in table)}")
    codes, pcm = _tensor(table["codes"], num_dimensions=2), _tensor(table["pcm"], num_dimensions=1)
    boundary = codes.data_offsets[1]
    if codes.data_offsets[0] != 0 or pcm.data_offsets != (boundary, len(body)):
        raise SegmentFormatError(f"codes lie at {codes.data_offsets} and pcm at {pcm.data_offsets}")
    segment = StoredSegment(header, body[boundary:], body[:boundary], codes.shape[1])
    if (segment.num_frames, segment.num_samples) != (codes.shape[0], pcm.shape[0]):
        raise SegmentFormatError(f"codes {codes.shape} and pcm {pcm.shape} do not fill the file")
    return segment


LENGTH_BYTES = _LENGTH.size
"""At the beginning of a file: how long its table is, behind which samples and frames begin."""


def table_bytes(beginning: bytes) -> int:
    """How long the table of a file is that begins so. Raises `SegmentFormatError`."""
    if len(beginning) < LENGTH_BYTES:
        raise SegmentFormatError("shorter than its own length field")
    (length,) = _LENGTH.unpack_from(beginning)
    if length > MAX_HEADER_BYTES:
        raise SegmentFormatError(f"a header of {length} bytes")
    return int(length)


def decode_header(table: bytes) -> SegmentHeader:
    """Of a segment whose samples are not read: its table alone. Raises `SegmentFormatError`."""
    return _header(_table(table).pop("__metadata__", None))


def _entry(shape: tuple[int, ...], start: int, end: int) -> dict[str, object]:
    return {"dtype": "I16", "shape": shape, "data_offsets": (start, end)}


def _split(data: bytes) -> tuple[dict[str, object], memoryview]:
    """The table of a file and what stands after it. The table's length is checked before it is parsed."""
    end = LENGTH_BYTES + table_bytes(data)
    if end > len(data):
        raise SegmentFormatError(f"a header of {end - LENGTH_BYTES} bytes")
    return _table(data[LENGTH_BYTES:end]), memoryview(data)[end:]


def _table(data: bytes) -> dict[str, object]:
    try:
        table = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SegmentFormatError(f"no readable header: {error}") from error
    if not isinstance(table, dict):
        raise SegmentFormatError("the header is no table")
    return table


def _header(metadata: object) -> SegmentHeader:
    if not isinstance(metadata, dict) or metadata.keys() != {_METADATA_KEY}:
        raise SegmentFormatError("the file does not say what segment it holds")
    try:
        header = _HEADER.validate_json(metadata[_METADATA_KEY], strict=True)
    except (ValidationError, TypeError) as error:
        raise SegmentFormatError(f"no readable header: {error}") from error
    if header.format != SEGMENT_FORMAT:
        raise SegmentFormatError(f"unknown segment format {header.format}")
    return header


def _tensor(fields_of_entry: object, *, num_dimensions: int) -> _Entry:
    try:
        entry = _ENTRY.validate_python(fields_of_entry)
    except ValidationError as error:
        raise SegmentFormatError(f"no table of tensors: {error}") from error
    if entry.dtype != "I16" or len(entry.shape) != num_dimensions:
        raise SegmentFormatError(f"a tensor of {entry.dtype}{list(entry.shape)}")
    return entry
