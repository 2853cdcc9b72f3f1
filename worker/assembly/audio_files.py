"""Blocks of samples into the bytes of one audio file, as they come.

WAV and Opus are uploaded while they are made. FLAC, MP3 and M4B write into their beginning once the end is known, so
they are made in an unnamed file in the system's temporary folder (TMPDIR), which vanishes with this process however
that ends.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import IO

from storage.audio_description import Description
from storage.audio_encoding import APPENDED, Outbox, appending_encoder, file_encoder
from storage.errors import StoreUnavailable
from storage.outputs import AudioFormat, OutputFormat
from storage.wav import BYTES_PER_SAMPLE, wav_header

PIECE_BYTES = 1024 * 1024

FREE_BYTES_LEFT = 256 * 1024 * 1024
"""What the temporary folder keeps free for others."""


def audio_file(
    form: OutputFormat, sample_rate_hz: int, num_samples: int, description: Description, blocks: Iterable[bytes]
) -> Iterator[bytes]:
    """The file in pieces. blocks: 16-bit samples, `num_samples` in all. Raises `StoreUnavailable` on a full disk."""
    if form.type is AudioFormat.WAV:
        yield wav_header(num_samples, sample_rate_hz)
        yield from blocks
    elif form.type in APPENDED:
        yield from _appended(form, sample_rate_hz, description, blocks)
    else:
        yield from _rewritten(form, sample_rate_hz, description, blocks)


def require_room(formats: Iterable[OutputFormat], sample_rate_hz: int, num_samples: int) -> None:
    """Raises `StoreUnavailable` unless the temporary folder has room for what has to be made there."""
    needed = sum(_temporary_bytes(form, sample_rate_hz, num_samples) for form in formats)
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if needed and free - needed < FREE_BYTES_LEFT:
        raise StoreUnavailable(f"{folder} has {free >> 20} MiB free; assembling needs {needed >> 20} MiB there")


def _temporary_bytes(form: OutputFormat, sample_rate_hz: int, num_samples: int) -> int:
    if form.type is AudioFormat.WAV or form.type in APPENDED:
        return 0
    if form.bitrate_kbps is None:
        return num_samples * BYTES_PER_SAMPLE
    return num_samples * form.bitrate_kbps * 1000 // (8 * sample_rate_hz)


def _appended(
    form: OutputFormat, sample_rate_hz: int, description: Description, blocks: Iterable[bytes]
) -> Iterator[bytes]:
    outbox = Outbox()
    with closing(appending_encoder(form, sample_rate_hz, description, outbox)) as encoder:
        for block in blocks:
            encoder.write(block)
            yield outbox.take()
    yield outbox.take()


def _rewritten(
    form: OutputFormat, sample_rate_hz: int, description: Description, blocks: Iterable[bytes]
) -> Iterator[bytes]:
    with tempfile.TemporaryFile(prefix="rhapsode-") as file:
        _storing(lambda: _encode(form, sample_rate_hz, description, blocks, file))
        file.seek(0)
        while piece := file.read(PIECE_BYTES):
            yield piece


def _encode(
    form: OutputFormat, sample_rate_hz: int, description: Description, blocks: Iterable[bytes], file: IO[bytes]
) -> None:
    with closing(file_encoder(form, sample_rate_hz, description, file)) as encoder:
        for block in blocks:
            encoder.write(block)


def _storing(write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as error:
        raise StoreUnavailable(f"no temporary file in {tempfile.gettempdir()}: {error}") from error
