"""An MP3 is as loud as what it was made of, at every bitrate that LAME makes quieter of itself."""

from __future__ import annotations

import io
import tempfile

import av
import numpy as np
import pytest

from rhapsode.contract.jobs.output import AudioFormat, OutputFormat
from storage.audio.description import Description
from storage.audio.encoding import Outbox, file_encoder, live_encoder

LEVEL = 0.5
SECONDS = 2


def tone(sample_rate_hz: int, level: float) -> bytes:
    times = np.arange(SECONDS * sample_rate_hz) / sample_rate_hz
    return (level * np.sin(2 * np.pi * 440 * times) * 32767).astype("<i2").tobytes()


def level_db(mp3: bytes, level: float) -> float:
    """Of the middle, against what went in."""
    pieces: list[np.ndarray] = []
    with av.open(io.BytesIO(mp3), "r") as file:
        resampler = av.AudioResampler("flt", "mono")
        for frame in file.decode(audio=0):
            pieces += [made.to_ndarray()[0] for made in resampler.resample(frame)]
    samples = np.concatenate(pieces)
    middle = samples[len(samples) // 4 : 3 * len(samples) // 4]
    return 20 * float(np.log10(np.sqrt(np.square(middle).mean()) / (level / np.sqrt(2))))


@pytest.mark.parametrize(
    ("sample_rate_hz", "kbps"),
    [(8_000, 8), (24_000, 96), (24_000, 160), (44_100, 128), (44_100, 192), (48_000, 224), (48_000, 320)],
)
def test_an_mp3_is_as_loud_as_what_it_was_made_of(sample_rate_hz: int, kbps: int) -> None:
    with tempfile.TemporaryFile() as file:
        encoder = file_encoder(
            OutputFormat(type=AudioFormat.MP3, bitrate_kbps=kbps), sample_rate_hz, Description(), file
        )
        encoder.write(tone(sample_rate_hz, LEVEL))
        encoder.finish()
        file.seek(0)
        made = file.read()

    assert level_db(made, LEVEL) == pytest.approx(0, abs=0.02)


def test_full_scale_is_not_clipped_on_the_way_and_streams_are_as_loud() -> None:
    outbox = Outbox()
    encoder = live_encoder(OutputFormat(type=AudioFormat.MP3, bitrate_kbps=96), 24_000, outbox)
    encoder.write(tone(24_000, 1.0))
    encoder.finish()

    assert level_db(outbox.take(), 1.0) == pytest.approx(0, abs=0.02)
