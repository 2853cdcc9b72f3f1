"""Recordings that strangers send: told apart by their first bytes, decoded by a process that can do nothing else.

Decoders of compressed audio are large C programs that read hostile input. They run in a child of their own with
bounded memory and time, without secrets in its environment, and without a free file descriptor, so that it can open
neither file nor socket. This module starts the child, and itself knows neither numpy nor a decoder.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Literal

from storage.recording_verdict import (
    MAX_DURATION_S,
    RATES_HZ,
    Container,
    RecordingFacts,
    RecordingRefused,
    RefusalCode,
    parse_verdict,
)

logger = logging.getLogger(__name__)

SNIFF_BYTES = 12
"""How much of a file's beginning `sniff_container` wants."""

DECODER_COMMAND = (sys.executable, "-I", "-B", "-m", "worker.reference_audio")
"""Isolated: neither the working folder nor PYTHONPATH decides what runs."""

_PATIENCE_S = 30.0
# The child's own output is at most a minute at the highest rate; what it writes beyond that is not read.
_MAX_PCM_BYTES = round(MAX_DURATION_S + 1) * RATES_HZ.stop * 4
_MAX_VERDICT_BYTES = 4_096
# What a dynamic loader or a locale may need; nothing that is named after us, no credentials.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TZ")


class DecoderBroken(RuntimeError):
    """The decoder does not run on this machine; the recording is not to blame."""


@dataclass(frozen=True, slots=True)
class DecodedRecording:
    """`pcm`: the channels' mean as float32 in this machine's byte order, `facts.num_samples` of them."""

    facts: RecordingFacts
    pcm: bytes


def sniff_container(head: bytes) -> Container:
    """What the file's first `SNIFF_BYTES` begin. Raises `RecordingRefused`; names and types of uploads say nothing."""
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return Container.WAV
    if head[:4] == b"fLaC":
        return Container.FLAC
    if head[:4] == b"OggS":
        return Container.OGG
    if head[:3] == b"ID3" or _is_mpeg_layer_3(head):
        return Container.MP3
    raise RecordingRefused(RefusalCode.UNSUPPORTED_MEDIA, "the recording is not a WAV, FLAC, MP3 or Ogg file")


def inspect_recording(file: IO[bytes], command: Sequence[str] = DECODER_COMMAND) -> RecordingFacts:
    """Decode a whole file on disk (a named or unnamed temporary one), keeping only what it turned out to be.

    Takes about a quarter of a second. Raises `RecordingRefused` or `DecoderBroken`.
    """
    with tempfile.TemporaryFile() as answer:
        return _decode(file, answer, "facts", command)


def decode_recording(data: bytes, command: Sequence[str] = DECODER_COMMAND) -> DecodedRecording:
    """The samples of a whole file. Raises `RecordingRefused` or `DecoderBroken`."""
    with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as answer:
        file.write(data)
        file.flush()
        facts = _decode(file, answer, "pcm", command)
        pcm = answer.read(_MAX_PCM_BYTES)
    if len(pcm) != facts.num_samples * 4:
        raise DecoderBroken(f"the decoder spoke of {facts.num_samples} samples and wrote {len(pcm)} bytes")
    return DecodedRecording(facts, pcm)


def _decode(
    file: IO[bytes], answer: IO[bytes], wanted: Literal["facts", "pcm"], command: Sequence[str]
) -> RecordingFacts:
    """Run the child on the file; leaves `answer` behind the verdict's line.

    Files instead of pipes: a child gone wrong can neither block this process nor fill its memory.
    """
    file.seek(0)
    sniff_container(file.read(SNIFF_BYTES))
    # The descriptor itself: file.seek may be content with moving inside its own buffer, which the child does not share.
    file.flush()
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    with tempfile.TemporaryFile() as complaints:
        status = _run((*command, wanted), file, answer, complaints)
        if status > 0:
            complaints.seek(0)
            tail = complaints.read(100_000)[-500:].decode(errors="replace").strip()
            raise DecoderBroken(f"the decoder of recordings ended with status {status}: {tail}")
    answer.seek(0)
    return _facts(answer.readline(_MAX_VERDICT_BYTES))


def _run(command: Sequence[str], file: IO[bytes], answer: IO[bytes], complaints: IO[bytes]) -> int:
    """The child's status. Raises `RecordingRefused` when it was killed: by its limits, by us, or by a crash."""
    with subprocess.Popen(command, stdin=file, stdout=answer, stderr=complaints, env=_environment()) as child:
        try:
            status = child.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired as error:
            child.kill()
            raise RecordingRefused(RefusalCode.UNREADABLE, "the recording takes too long to decode") from error
    if status < 0:
        logger.warning("a recording killed its decoder", extra={"signal": -status})
        raise RecordingRefused(RefusalCode.UNREADABLE, "the recording cannot be decoded")
    return status


def _facts(line: bytes) -> RecordingFacts:
    try:
        return parse_verdict(line)
    except ValueError as error:
        raise DecoderBroken("the decoder of recordings gave no verdict") from error


def _environment() -> Mapping[str, str]:
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    # A pool of threads for nothing would take address space that the child's limit counts.
    return kept | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def _is_mpeg_layer_3(head: bytes) -> bool:
    """A frame header: eleven set bits, MPEG 1, 2 or 2.5, layer III, no reserved bit rate or sample rate."""
    if len(head) < 3 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return False
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    return version != 1 and layer == 1 and head[2] >> 4 != 15 and head[2] >> 2 & 3 != 3
