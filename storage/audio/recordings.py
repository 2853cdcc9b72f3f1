"""Uploaded recordings: recognised by their first bytes, decoded by a process without other rights.

Decoders of compressed audio are large C programs that read hostile input. They run in one child for each recording,
with bounded memory and time and without secrets. It has no free file descriptor, so it can open neither file nor socket
(`storage.runtime.fork_server`). This module requests the child, and needs neither numpy nor a decoder.
"""

from __future__ import annotations

import logging
import tempfile
from dataclasses import dataclass
from typing import IO, Literal

from storage.audio.recording_verdict import (
    MAX_DURATION_S,
    RATES_HZ,
    UNKNOWN,
    Container,
    RecordingFacts,
    RecordingRefused,
    RefusalCode,
    parse_verdict,
)
from storage.runtime.fork_server.client import ChildEnd, ChildTask, ForkServer
from storage.runtime.fork_server.server_process import ForkServerBroken
from storage.runtime.own_module import isolated

logger = logging.getLogger(__name__)

SNIFF_BYTES = 12
"""How much of a file's beginning `sniff_container` wants."""

DECODERS = ForkServer(isolated("worker.voices.reference_audio"))
"""This process's."""

_PATIENCE_S = 30.0
_MAX_VERDICT_BYTES = 4_096
# Samples are of at most a minute at the highest rate; what a child writes beyond that is not read.
_MAX_ANSWER_BYTES = {
    "facts": _MAX_VERDICT_BYTES,
    "pcm": _MAX_VERDICT_BYTES + round(MAX_DURATION_S + 1) * RATES_HZ.stop * 4,
}


class DecoderBroken(RuntimeError):
    """The decoder does not run on this machine; the recording is not to blame."""


@dataclass(frozen=True, slots=True)
class DecodedRecording:
    """`pcm`: the channels' mean as float32 in this machine's byte order, `facts.num_samples` of them."""

    facts: RecordingFacts
    pcm: bytes


def sniff_container(head: bytes) -> Container:
    """What the file's first `SNIFF_BYTES` begin. Raises `RecordingRefused`; names and types of uploads say nothing."""
    if head[:4] in (b"RIFF", b"RF64") and head[8:12] == b"WAVE":
        return Container.WAV
    if head[4:8] == b"ftyp":
        return Container.MP4
    if head[:4] == b"\x1a\x45\xdf\xa3":
        return Container.WEBM
    if head[:1] == b"\xff" and head[1:2] and head[1] & 0xF6 == 0xF0:
        return Container.AAC
    if head[:4] == b"fLaC":
        return Container.FLAC
    if head[:4] == b"OggS":
        return Container.OGG
    if head[:3] == b"ID3" or _is_mpeg_layer_3(head):
        return Container.MP3
    raise RecordingRefused(RefusalCode.UNSUPPORTED_MEDIA, UNKNOWN)


def inspect_recording(file: IO[bytes], decoders: ForkServer = DECODERS) -> RecordingFacts:
    """Decode a whole file on disk (a named or unnamed temporary one), keeping only what it turned out to be.

    Takes some milliseconds, the first one a fifth of a second. Raises `RecordingRefused` or `DecoderBroken`.
    """
    return _decode(file, "facts", decoders)[0]


def decode_recording(data: bytes, decoders: ForkServer = DECODERS) -> DecodedRecording:
    """The samples of a whole file. Raises `RecordingRefused` or `DecoderBroken`."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        facts, pcm = _decode(file, "pcm", decoders)
    if len(pcm) != facts.num_samples * 4:
        raise DecoderBroken(f"the decoder spoke of {facts.num_samples} samples and wrote {len(pcm)} bytes")
    return DecodedRecording(facts, pcm)


def _decode(file: IO[bytes], wanted: Literal["facts", "pcm"], decoders: ForkServer) -> tuple[RecordingFacts, bytes]:
    """Run a child on the file; its verdict, and what it wrote after it."""
    file.seek(0)
    sniff_container(file.read(SNIFF_BYTES))
    ended = _run(decoders, ChildTask((wanted,), file, _MAX_ANSWER_BYTES[wanted], _PATIENCE_S))
    _require_end(ended)
    line, _, rest = ended.answer.partition(b"\n")
    try:
        return parse_verdict(line), rest
    except ValueError as error:
        raise DecoderBroken("the decoder of recordings gave no verdict") from error


def _run(decoders: ForkServer, reading: ChildTask) -> ChildEnd:
    try:
        return decoders.run(reading)
    except TimeoutError as error:
        raise RecordingRefused(RefusalCode.UNREADABLE, "the recording takes too long to decode") from error
    except ForkServerBroken as error:
        raise DecoderBroken(f"the decoder of recordings does not run: {error}") from error


def _require_end(ended: ChildEnd) -> None:
    if ended.status < 0:
        # By its limits, by a crash, or by the system for its memory.
        logger.warning("a recording killed its decoder", extra={"signal": -ended.status})
        raise RecordingRefused(RefusalCode.UNREADABLE, "the recording cannot be decoded")
    if ended.status > 0:
        raise DecoderBroken(f"the decoder of recordings ended with status {ended.status}: {ended.complaints}")


def _is_mpeg_layer_3(head: bytes) -> bool:
    """A frame header: eleven set bits, MPEG 1, 2 or 2.5, layer III, no reserved bit rate or sample rate."""
    if len(head) < 3 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return False
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    return version != 1 and layer == 1 and head[2] >> 4 != 15 and head[2] >> 2 & 3 != 3
