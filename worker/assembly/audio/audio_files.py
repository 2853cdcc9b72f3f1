"""Blocks of samples into the bytes of one audio file, as they come.

WAV and Opus are uploaded while they are made. FLAC, MP3 and M4B write into their beginning once the end is known, so
they are made in an unnamed temporary file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from rhapsode.contract.jobs.output import AudioFormat, OutputFormat
from storage.audio.description import Description, freeform
from storage.audio.encoding import APPENDED, AudioEncoder, Outbox, appending_encoder, file_encoder
from storage.audio.mp4_freeform import put_in_place
from storage.audio.wav import BYTES_PER_SAMPLE, wav_header
from worker.assembly.audio.scratch import scratch_errors, scratch_file
from worker.assembly.audio.stretches import MOST_S, encoded

PIECE_BYTES = 1024 * 1024


def audio_file(
    form: OutputFormat, sample_rate_hz: int, num_samples: int, description: Description, blocks: Iterable[bytes]
) -> Iterator[bytes]:
    """The file in pieces. blocks: 16-bit samples, `num_samples` in all. Raises `StoreUnavailable` on a full disk."""
    if form.type is AudioFormat.WAV:
        yield wav_header(num_samples, sample_rate_hz)
        yield from blocks
        return
    is_long = form.type is not AudioFormat.FLAC and num_samples > MOST_S * sample_rate_hz
    fill = _joined if is_long else _written
    if form.type in APPENDED:
        outbox = Outbox()
        for _ in fill(appending_encoder(form, sample_rate_hz, description, outbox), form, sample_rate_hz, blocks):
            yield outbox.take()
        return
    with scratch_file() as file:
        with scratch_errors():
            encoder = file_encoder(form, sample_rate_hz, description, file)
            deque(fill(encoder, form, sample_rate_hz, blocks), 0)
            if form.type is AudioFormat.M4B:
                put_in_place(file, freeform(description.tags))
            file.seek(0)
        while piece := file.read(PIECE_BYTES):
            yield piece


def scratch_bytes(form: OutputFormat, sample_rate_hz: int, num_samples: int) -> int:
    """At most what the file takes in the temporary folder."""
    if form.type is AudioFormat.WAV or form.type in APPENDED:
        return 0
    if form.bitrate_kbps is None:
        return num_samples * BYTES_PER_SAMPLE
    return num_samples * form.bitrate_kbps * 1000 // (8 * sample_rate_hz)


def _written(encoder: AudioEncoder, form: OutputFormat, sample_rate_hz: int, blocks: Iterable[bytes]) -> Iterator[None]:
    """A step for each block, and one for the end of the file."""
    for block in blocks:
        yield encoder.write(block)
    yield encoder.finish()


def _joined(encoder: AudioEncoder, form: OutputFormat, sample_rate_hz: int, blocks: Iterable[bytes]) -> Iterator[None]:
    """A step for each stretch, and one for the end of the file."""
    for packets in encoded(form, sample_rate_hz, blocks):
        yield encoder.add(packets)
    yield encoder.finish()
