"""A voice's cache as a file: what a recording became for one checkpoint, in safetensors. Pure.

    x_vector      F32 (D,)    the speaker embedding
    ref_code      I16 (T, Q)  codec frames of the recording; only in context
    ref_text_ids  I32 (N,)    the checkpoint's ids of what the recording says; only in context

The format has three parts (a length, JSON, bytes). This reader accepts a subset: these tensors in this order, without
gaps, and a header of at most 64 KiB with a correct digest of the data. It is written with the standard library alone
because the web tier, which hands out and blends embeddings, loads no numpy. Other programs read the files with the
safetensors library.
"""

from __future__ import annotations

import array
import hashlib
import json
import math
import struct
import sys
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter, ValidationError

from rhapsode.contract.voices.modes import CacheMode

ARTIFACT_FORMAT = 1
MAX_HEADER_BYTES = 64 * 1024
MAX_ARTIFACT_BYTES = 1024 * 1024
"""A minute in context is 24 kB of codes beside an embedding of 8 kB and at most 64 KiB of header."""

MAX_REF_TEXT_CHARS = 4_000

_LENGTH = struct.Struct("<Q")
_METADATA_KEY = "voice"
_ITEM_BYTES = {"F32": 4, "I16": 2, "I32": 4}


class ArtifactFormatError(ValueError):
    """The bytes are no voice artifact that this version can read; build it again."""


class ArtifactDamaged(ArtifactFormatError):
    """The bytes are not those that were written: cut, changed or of another content."""


class ArtifactUnknown(ArtifactFormatError):
    """A file of another format or version; never read by guess."""


@dataclass(frozen=True, slots=True)
class ArtifactHeader:
    """What the artifact was made from and for.

    content: the content key, hex. model_revision, codec_revision: digests of the checkpoint's files.
    ref_text: what the recording says; empty unless in context. dtype: of the embedding.
    """

    content: str
    model: str
    model_revision: str
    codec_revision: str
    mode: CacheMode
    ref_text: str = ""
    dtype: str = "float32"
    format: int = ARTIFACT_FORMAT


@dataclass(frozen=True, slots=True)
class Tensor:
    """A little-endian array: `data` holds the product of `shape` items of `dtype` (safetensors' name)."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def __post_init__(self) -> None:
        if self.dtype not in _ITEM_BYTES:
            raise ArtifactFormatError(f"a tensor of {self.dtype}")
        if math.prod(self.shape) * _ITEM_BYTES[self.dtype] != len(self.data):
            raise ArtifactFormatError(f"{len(self.data)} bytes are no {self.dtype}{list(self.shape)}")


@dataclass(frozen=True, slots=True)
class InContextPart:
    """ref_code: I16 (T, Q), T and Q at least 1. ref_text_ids: I32 (N,), N at least 1."""

    ref_code: Tensor
    ref_text_ids: Tensor

    def __post_init__(self) -> None:
        if self.ref_code.dtype != "I16" or len(self.ref_code.shape) != 2 or 0 in self.ref_code.shape:
            raise ArtifactFormatError(f"ref_code is {self.ref_code.dtype}{list(self.ref_code.shape)}, not I16 [T, Q]")
        ids = self.ref_text_ids
        if ids.dtype != "I32" or len(ids.shape) != 1 or 0 in ids.shape:
            raise ArtifactFormatError(f"ref_text_ids are {ids.dtype}{list(ids.shape)}, not I32 [N]")


@dataclass(frozen=True, slots=True)
class VoiceArtifact:
    """A cached voice; checked here, so that every instance can be spoken with.

    x_vector: F32 (D,), finite. in_context: present exactly when the header's mode says so.
    """

    header: ArtifactHeader
    x_vector: Tensor
    in_context: InContextPart | None = None

    def __post_init__(self) -> None:
        _require_header(self.header)
        if self.x_vector.dtype != "F32" or len(self.x_vector.shape) != 1 or 0 in self.x_vector.shape:
            raise ArtifactFormatError(f"x_vector is {self.x_vector.dtype}{list(self.x_vector.shape)}, not F32 [D]")
        if not all(map(math.isfinite, tensor_values(self.x_vector))):
            raise ArtifactFormatError("x_vector is not finite")
        if (self.header.mode is CacheMode.IN_CONTEXT) != (self.in_context is not None):
            raise ArtifactFormatError(f"mode {self.header.mode} does not fit the tensors")
        if (self.header.mode is CacheMode.IN_CONTEXT) != bool(self.header.ref_text.strip()):
            raise ArtifactFormatError(f"mode {self.header.mode} does not fit the reference text")


@dataclass(frozen=True, slots=True)
class _Written:
    """The header as it stands in the file: with the digest of the bytes after it."""

    voice: ArtifactHeader
    data_sha256: str


@dataclass(frozen=True, slots=True)
class _Entry:
    """One tensor of the file's table."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


_WRITTEN = TypeAdapter(_Written)
_ENTRY = TypeAdapter(_Entry)


def float_tensor(values: tuple[float, ...]) -> Tensor:
    """F32 (N,). Raises `ArtifactFormatError` for a number beyond 32-bit floats."""
    try:
        return Tensor("F32", (len(values),), struct.pack(f"<{len(values)}f", *values))
    except OverflowError as error:
        raise ArtifactFormatError("x_vector is not finite") from error


def tensor_values(tensor: Tensor) -> tuple[float, ...]:
    """An F32 tensor's items, whatever its shape."""
    values = array.array("f", tensor.data)
    if sys.byteorder == "big":
        values.byteswap()
    return tuple(values)


def encode_artifact(artifact: VoiceArtifact) -> bytes:
    """Equal artifacts give equal bytes. Raises `ArtifactFormatError` when the result would be beyond the bounds."""
    tensors = _tensors(artifact)
    body = b"".join(tensor.data for tensor in tensors.values())
    written = _Written(artifact.header, hashlib.sha256(body).hexdigest())
    table: dict[str, object] = {"__metadata__": {_METADATA_KEY: json.dumps(asdict(written), ensure_ascii=False)}}
    start = 0
    for name, tensor in tensors.items():
        end = start + len(tensor.data)
        table[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": (start, end)}
        start = end
    head = json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    if len(head) > MAX_HEADER_BYTES or len(head) + len(body) > MAX_ARTIFACT_BYTES:
        raise ArtifactFormatError(f"a header of {len(head)} bytes before {len(body)} bytes of data")
    return _LENGTH.pack(len(head)) + head + body


def decode_artifact(data: bytes, sha256: str | None = None) -> VoiceArtifact:
    """The artifact in the bytes; `sha256` (hex) is what the whole file is known to have.

    Raises `ArtifactDamaged` or `ArtifactUnknown`, both `ArtifactFormatError`, for anything `encode_artifact` did not
    write. Nothing is allocated by what the header claims.
    """
    if len(data) > _LENGTH.size + MAX_ARTIFACT_BYTES:
        raise ArtifactDamaged(f"{len(data)} bytes are too many for a voice")
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise ArtifactDamaged("the file's sha256 is not the recorded one")
    table, body = _split(data)
    written = _written(table)
    if hashlib.sha256(body).hexdigest() != written.data_sha256:
        raise ArtifactDamaged("the data's sha256 is not the header's")
    tensors = _cut(table, body)
    try:
        return VoiceArtifact(written.voice, tensors["x_vector"], _in_context(tensors))
    except ArtifactFormatError as error:
        raise ArtifactDamaged(str(error)) from error


def _tensors(artifact: VoiceArtifact) -> dict[str, Tensor]:
    """In the order of the file: larger items first, so that every tensor is aligned."""
    tensors = {"x_vector": artifact.x_vector}
    if artifact.in_context is not None:
        tensors["ref_text_ids"] = artifact.in_context.ref_text_ids
        tensors["ref_code"] = artifact.in_context.ref_code
    return tensors


def _require_header(header: ArtifactHeader) -> None:
    """Raises `ArtifactUnknown` for another version, `ArtifactFormatError` for what this one never says."""
    if header.format != ARTIFACT_FORMAT or header.dtype != "float32":
        raise ArtifactUnknown(f"voice format {header.format} with {header.dtype} embeddings")
    if len(header.ref_text) > MAX_REF_TEXT_CHARS:
        raise ArtifactFormatError(f"a reference text of {len(header.ref_text)} characters")
    for name in ("content", "model", "model_revision", "codec_revision"):
        if not 1 <= len(getattr(header, name)) <= 256:
            raise ArtifactFormatError(f"{name} is missing or too long")


def _split(data: bytes) -> tuple[dict[str, object], bytes]:
    """The table of a file and what stands after it. The table's length is checked before it is read."""
    if len(data) < _LENGTH.size:
        raise ArtifactDamaged("shorter than its own length field")
    (length,) = _LENGTH.unpack_from(data)
    end = _LENGTH.size + length
    if length > MAX_HEADER_BYTES or end > len(data):
        raise ArtifactDamaged(f"a header of {length} bytes in a file of {len(data)}")
    try:
        table = json.loads(data[_LENGTH.size : end], object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ArtifactDamaged(f"no readable header: {error}") from error
    if not isinstance(table, dict):
        raise ArtifactUnknown("the header is no table")
    return table, data[end:]


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A key that stands twice means something else to every reader."""
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key stands twice")
    return table


def _written(table: dict[str, object]) -> _Written:
    metadata = table.get("__metadata__")
    if not isinstance(metadata, dict) or metadata.keys() != {_METADATA_KEY}:
        raise ArtifactUnknown("the file does not say what voice it holds")
    try:
        written = _WRITTEN.validate_json(metadata[_METADATA_KEY])
    except (ValidationError, TypeError) as error:
        raise ArtifactUnknown("the file does not say what voice it holds in words of this version") from error
    if written.voice.format != ARTIFACT_FORMAT:
        raise ArtifactUnknown(f"voice format {written.voice.format}")
    return written


def _cut(table: dict[str, object], body: bytes) -> dict[str, Tensor]:
    """The tensors, which must fill the body in the order of the table."""
    tensors: dict[str, Tensor] = {}
    end = 0
    for name, fields in table.items():
        if name == "__metadata__":
            continue
        try:
            entry = _ENTRY.validate_python(fields)
        except ValidationError as error:
            raise ArtifactDamaged(f"{name[:40]!r} is no tensor") from error
        start = end
        end = entry.data_offsets[1]
        if entry.data_offsets[0] != start or not start <= end <= len(body):
            raise ArtifactDamaged(f"{name[:40]!r} lies at {entry.data_offsets}")
        tensors[name] = _tensor(entry, body[start:end])
    if end != len(body):
        raise ArtifactDamaged(f"{len(body) - end} bytes belong to no tensor")
    if tensors.keys() not in ({"x_vector"}, {"x_vector", "ref_text_ids", "ref_code"}):
        raise ArtifactDamaged(f"a voice does not hold {sorted(name[:40] for name in tensors)}")
    return tensors


def _tensor(entry: _Entry, data: bytes) -> Tensor:
    if len(entry.shape) > 2 or any(not 0 <= size <= MAX_ARTIFACT_BYTES for size in entry.shape):
        raise ArtifactDamaged(f"a tensor of shape {entry.shape[:4]}")
    try:
        return Tensor(entry.dtype, entry.shape, data)
    except ArtifactFormatError as error:
        raise ArtifactDamaged(str(error)) from error


def _in_context(tensors: dict[str, Tensor]) -> InContextPart | None:
    if "ref_code" not in tensors:
        return None
    return InContextPart(tensors["ref_code"], tensors["ref_text_ids"])
