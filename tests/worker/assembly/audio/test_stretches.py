"""A long stream that several encoders made stretch by stretch is as one encoder's: as long, and without a seam."""

from __future__ import annotations

import gc
import io
import threading
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import av
import av.container
import numpy as np
import pytest
import soxr
from mutagen.mp4 import MP4
from numpy.typing import NDArray

from rhapsode.contract.jobs.output import AudioFormat, OutputFormat, Tags
from storage.audio.description import Description
from storage.audio.encoding import encoded_stretch
from storage.audio.wav import BYTES_PER_SAMPLE
from tests.worker.assembly.studio import voice_like
from worker.assembly.audio import audio_files, stretches
from worker.assembly.audio.audio_files import audio_file

PLAIN = Description(Tags(title="A book"), (), None)
AROUND_S = 0.06
PRIMING = {AudioFormat.AAC: 1024}
"""Samples before the sound that nothing in the file tells a decoder of."""

FORMS = [
    (24_000, OutputFormat(type=AudioFormat.OPUS, bitrate_kbps=48)),
    (48_000, OutputFormat(type=AudioFormat.OPUS, bitrate_kbps=96)),
    (24_000, OutputFormat(type=AudioFormat.MP3, bitrate_kbps=96)),
    (44_100, OutputFormat(type=AudioFormat.MP3, bitrate_kbps=192)),
    (24_000, OutputFormat(type=AudioFormat.M4B, bitrate_kbps=96)),
    (44_100, OutputFormat(type=AudioFormat.AAC, bitrate_kbps=96)),
]


SPOKEN = Path(__file__).parents[4] / "docs" / "pictures"


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "LEAST_S", 3)
    monkeypatch.setattr(stretches, "MOST_S", 5)
    monkeypatch.setattr(audio_files, "MOST_S", 5)


@cache
def speech(rate_hz: int) -> bytes:
    """Voices for 18 seconds with an odd number of samples, above a quiet noise."""
    parts: list[NDArray[np.int16]] = []
    for voice in ("af_heart", "am_michael", "bf_emma", "bm_fable"):
        with av.open(str(SPOKEN / f"{voice}.mp3")) as container:
            resampler = av.AudioResampler("s16", "mono", rate_hz)
            frames = [part for each in container.decode(audio=0) for part in resampler.resample(each)]
        parts += [frame.to_ndarray()[0] for frame in frames] + [np.zeros(rate_hz // 2, np.int16)]
    samples = np.concatenate(parts)[: 18 * rate_hz + 137]
    return (samples + np.random.default_rng(1).normal(0, 3, len(samples))).clip(-32768, 32767).astype("<i2").tobytes()


def blocks_of(pcm: bytes, size: int = 50_002) -> Iterator[bytes]:
    return (pcm[start : start + size] for start in range(0, len(pcm), size))


def file_of(form: OutputFormat, rate_hz: int, pcm: bytes) -> bytes:
    return b"".join(audio_file(form, rate_hz, len(pcm) // BYTES_PER_SAMPLE, PLAIN, blocks_of(pcm)))


def of_one_encoder(form: OutputFormat, rate_hz: int, pcm: bytes) -> bytes:
    """In one stretch: MP3 without its reservoir."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stretches, "MOST_S", 1000)
        return file_of(form, rate_hz, pcm)


def written(form: OutputFormat, rate_hz: int, pcm: bytes) -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audio_files, "MOST_S", 1000)
        return file_of(form, rate_hz, pcm)


def decoded(data: bytes) -> tuple[NDArray[np.float64], int]:
    with av.open(io.BytesIO(data), mode="r") as container:
        stream = container.streams.audio[0]
        samples = np.concatenate([frame.to_ndarray()[0] for frame in container.decode(stream)])
        return samples / (32768 if samples.dtype == np.int16 else 1), stream.rate


def joints(form: OutputFormat, rate_hz: int, pcm: bytes) -> list[int]:
    made = stretches.stretches(form.type, rate_hz, blocks_of(pcm))
    return [end for _, _, _, end in made if end is not None]


@pytest.mark.parametrize("most_s", [5, 3], ids=["quiet joints", "joints anywhere"])
@pytest.mark.parametrize(("rate_hz", "form"), FORMS, ids=lambda value: str(getattr(value, "type", value)))
def test_a_joined_file_is_as_long_as_that_of_one_encoder_and_has_no_seam(
    rate_hz: int, form: OutputFormat, most_s: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretches, "MOST_S", most_s)
    pcm = speech(rate_hz)
    joined, decoder_hz = decoded(file_of(form, rate_hz, pcm))
    single, _ = decoded(of_one_encoder(form, rate_hz, pcm))
    asked = np.frombuffer(pcm, "<i2") / 32768
    if decoder_hz != rate_hz:
        asked = soxr.resample(asked, rate_hz, decoder_hz)

    assert len(joined) == len(single) == len(decoded(written(form, rate_hz, pcm))[0])
    if form.type in (AudioFormat.MP3, AudioFormat.OPUS):
        assert len(joined) == len(asked)
    skipped = PRIMING.get(form.type, 0)
    off_joined, off_single = (each[skipped : skipped + len(asked)] - asked for each in (joined, single))
    assert np.sqrt(np.square(off_joined).mean()) < 1.1 * np.sqrt(np.square(off_single).mean())
    around = round(AROUND_S * decoder_hz)
    found = joints(form, rate_hz, pcm)
    assert len(found) >= 3
    for joint in found:
        at = joint * decoder_hz // rate_hz
        there = slice(at - around, at + around)
        assert np.abs(off_joined[there]).max() <= np.abs(off_single).max(), joint
        assert np.abs(np.diff(joined[skipped:][there])).max() <= np.abs(np.diff(single)).max(), joint


def test_mp3_is_bit_for_bit_what_one_encoder_makes() -> None:
    form, pcm = OutputFormat(type=AudioFormat.MP3, bitrate_kbps=96), speech(24_000)
    parts = [
        packet
        for each in stretches.stretches(AudioFormat.MP3, 24_000, blocks_of(pcm))
        for packet in encoded_stretch(form, 24_000, *each)
    ]
    whole = encoded_stretch(form, 24_000, pcm, 0, 0, None)

    assert [(each.pts, bytes(each)) for each in parts] == [(each.pts, bytes(each)) for each in whole]


def test_the_container_tells_the_exact_length() -> None:
    form, pcm = OutputFormat(type=AudioFormat.M4B, bitrate_kbps=96), speech(24_000)
    data, num_samples = file_of(form, 24_000, pcm), len(pcm) // BYTES_PER_SAMPLE

    with av.open(io.BytesIO(data), mode="r") as container:
        assert container.duration == pytest.approx(num_samples / 24_000 * av.time_base, abs=500)
    info = MP4(io.BytesIO(data)).info
    plain = MP4(io.BytesIO(written(form, 24_000, pcm))).info
    assert info is not None
    assert plain is not None
    assert info.length == plain.length


def test_bytes_depend_on_no_number_of_cores_and_no_block(monkeypatch: pytest.MonkeyPatch) -> None:
    form, pcm = OutputFormat(type=AudioFormat.OPUS, bitrate_kbps=48), speech(24_000)
    made: set[bytes] = set()
    for cores, size in ((1, 50_002), (2, 2), (7, len(pcm))):
        monkeypatch.setattr(stretches, "usable_cores", lambda cores=cores: cores)
        num_samples = len(pcm) // BYTES_PER_SAMPLE
        made.add(b"".join(audio_file(form, 24_000, num_samples, PLAIN, blocks_of(pcm, size))))

    assert len(made) == 1


def test_stretches_follow_each_other_and_end_at_quiet_places() -> None:
    rate_hz, frame, pcm = 24_000, 480, speech(24_000)
    samples = np.frombuffer(pcm, "<i2").astype(float)
    made = list(stretches.stretches(AudioFormat.OPUS, rate_hz, blocks_of(pcm)))

    assert (made[0][2], made[-1][3]) == (0, None)
    for (data, position, _, end), (_, start, begin, _) in pairwise(made):
        assert end is not None
        assert end == begin
        assert end % frame == 0
        assert begin - start == 2 * rate_hz
        assert len(data) <= (2 + stretches.MOST_S + 1) * rate_hz * BYTES_PER_SAMPLE
        assert data == pcm[BYTES_PER_SAMPLE * position :][: len(data)]
        heard = samples[end - 2 * frame : end + 2 * frame]
        assert np.abs(heard).mean() < np.abs(samples).mean() / 2


def test_one_stretch_is_what_is_written_and_so_is_a_short_file() -> None:
    for rate_hz, form in FORMS:
        pcm = speech(rate_hz)[: stretches.MOST_S * rate_hz * BYTES_PER_SAMPLE]
        assert file_of(form, rate_hz, pcm) == written(form, rate_hz, pcm)
        if form.type is not AudioFormat.MP3:
            assert of_one_encoder(form, rate_hz, pcm) == written(form, rate_hz, pcm)


def test_few_stretches_are_in_memory_and_an_error_ends_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "usable_cores", lambda: 2)
    form, second = OutputFormat(type=AudioFormat.MP3, bitrate_kbps=96), voice_like(1, 0.3, 1)
    pcm, taken = (second * 32767).astype("<i2").tobytes(), 0

    def source() -> Iterator[bytes]:
        nonlocal taken
        for number in range(1, 61):
            taken = number
            yield pcm
        raise ValueError("no more")

    pieces = stretches.encoded(form, 24_000, source())
    next(pieces)
    assert taken <= 4 * stretches.MOST_S
    with pytest.raises(ValueError, match="no more"):
        list(pieces)
    assert not [each.name for each in threading.enumerate() if each.name.startswith("encoder")]


def test_an_encoder_is_gone_with_its_stretch() -> None:
    """Without the garbage collector: a book of ten hours has 700 stretches."""
    form, pcm = OutputFormat(type=AudioFormat.AAC, bitrate_kbps=96), speech(24_000)[: 2 * 24_000]
    gc.collect()
    gc.disable()
    try:
        lengths = [len(encoded_stretch(form, 24_000, pcm, 0, 0, None)) for _ in range(3)]
        left = [each for each in gc.get_objects() if isinstance(each, av.container.OutputContainer)]
    finally:
        gc.enable()

    assert min(lengths) > 0
    assert left == []
