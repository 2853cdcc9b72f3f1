"""Figures of finished files against what publishers ask, on files that this makes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import cast

import av
import numpy as np
import pytest
from av import AudioFrame
from av.audio.stream import AudioStream
from av.codec.context import Flags
from numpy.typing import NDArray

from rhapsode.contract.jobs.presets import PRESETS, OutputPreset, Preset, Range
from worker.speech.mastering.checking import figures, unlike
from worker.speech.mastering.measuring import FileMeasures, NotAudio, measure_file

RATE_HZ = 44_100
Sound = NDArray[np.float32]


def tone(level_db: float, seconds: float, rate_hz: int = RATE_HZ, channels: int = 1) -> Sound:
    """Of 997 Hz, with this RMS in each channel; shape (channels, N)."""
    places = np.arange(round(seconds * rate_hz)) / rate_hz
    wave = math.sqrt(2) * 10 ** (level_db / 20) * np.sin(2 * np.pi * 997 * places)
    return np.tile(wave.astype(np.float32), (channels, 1))


def room(seconds: float, level_db: float = -70.0, rate_hz: int = RATE_HZ) -> Sound:
    draws = np.random.default_rng(7).standard_normal(round(seconds * rate_hz))
    return (10 ** (level_db / 20) * draws).astype(np.float32)[None, :]


def chapter(level_db: float = -20.0, head_s: float = 0.7, tail_s: float = 2.0, floor_db: float = -70.0) -> Sound:
    return np.concatenate((room(head_s, floor_db), tone(level_db, 8.0), room(tail_s, floor_db)), axis=1)


def written(path: Path, sound: Sound, codec: str = "pcm_s16le", kbps: int | None = 192, rate_hz: int = RATE_HZ) -> Path:
    """kbps: of MP3; None lets its frames have the length that each needs."""
    layout, is_mp3 = ("mono" if len(sound) == 1 else "stereo"), codec == "libmp3lame"
    with av.open(str(path), "w") as container:
        stream = cast("AudioStream", container.add_stream(codec, rate=rate_hz, layout=layout))
        if is_mp3 and kbps is not None:
            stream.bit_rate = kbps * 1000
        if kbps is None:
            stream.codec_context.flags |= Flags.qscale
            stream.codec_context.global_quality = 2 * FF_QP2LAMBDA
        frame = _floats(sound, layout) if is_mp3 else _integers(sound, layout)
        frame.sample_rate = rate_hz
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


FF_QP2LAMBDA = 118
"""FFmpeg's unit of quality."""


def _floats(sound: Sound, layout: str) -> AudioFrame:
    return AudioFrame.from_ndarray(np.ascontiguousarray(sound), format="fltp", layout=layout)


def _integers(sound: Sound, layout: str) -> AudioFrame:
    whole = np.round(np.clip(sound, -1, 1) * 32767).astype(np.int16)
    return AudioFrame.from_ndarray(np.ascontiguousarray(whole.T.reshape(1, -1)), format="s16", layout=layout)


def missed(path: Path, preset: str) -> set[str]:
    return {each.name for each in figures(measure_file(path), PRESETS[OutputPreset(preset)]) if each.is_met is False}


def test_a_chapter_that_acx_takes_passes_with_every_figure(tmp_path: Path) -> None:
    found = measure_file(written(tmp_path / "01.mp3", chapter(), "libmp3lame"))

    assert [each.name for each in figures(found, PRESETS[OutputPreset.ACX]) if each.is_met is False] == []
    # Eight seconds of 10.7 sound; LAME turns down by up to half a dB.
    assert found.rms_db == pytest.approx(-20 + 10 * math.log10(8 / 10.7), abs=0.5)
    assert found.peak_db == pytest.approx(-17, abs=0.5)
    assert found.noise_floor_db == pytest.approx(-70, abs=1)
    assert (found.head_s, found.tail_s) == pytest.approx((0.7, 2.0), abs=0.08)
    assert (found.sample_rate_hz, found.channels, found.is_constant_bitrate) == (44_100, 1, True)
    assert found.bitrate_kbps == pytest.approx(192, rel=0.02)


@pytest.mark.parametrize(
    ("sound", "wrong"),
    [
        (chapter(level_db=-26), {"RMS"}),
        (chapter(level_db=-5), {"RMS", "peak"}),
        (chapter(floor_db=-50), {"noise floor"}),
        (chapter(head_s=0.1), {"silence before"}),
        (chapter(tail_s=7), {"silence behind", "RMS"}),
    ],
)
def test_what_acx_refuses_is_named(tmp_path: Path, sound: Sound, wrong: set[str]) -> None:
    assert missed(written(tmp_path / "a.mp3", sound, "libmp3lame"), "acx") == wrong


def test_the_format_is_judged_too(tmp_path: Path) -> None:
    assert missed(written(tmp_path / "a.wav", chapter()), "acx") == {"format"}
    assert missed(written(tmp_path / "a.mp3", chapter(), "libmp3lame", kbps=96), "acx") == {"bitrate"}
    assert "kind of bitrate" in missed(written(tmp_path / "b.mp3", chapter(), "libmp3lame", kbps=None), "acx")
    slow = np.concatenate((room(0.7, rate_hz=24_000), tone(-20, 8.0, 24_000), room(2.0, rate_hz=24_000)), axis=1)
    assert missed(written(tmp_path / "c.flac", slow, "flac", rate_hz=24_000), "acx") >= {"format", "sample rate"}


@pytest.mark.parametrize(("preset", "lufs"), [("podcast", -16.0), ("audiobook", -18.0), ("broadcast", -23.0)])
def test_loudness_is_held_against_the_preset_in_mono_and_stereo(tmp_path: Path, preset: str, lufs: float) -> None:
    """EBU Tech 3341: a stereo tone of -23 dBFS, 3 dB more than its RMS, has -23 LUFS; in one channel it has 3 less."""
    stereo = written(tmp_path / "a.wav", tone(lufs - 3.01, 20.0, channels=2))
    mono = written(tmp_path / "b.wav", tone(lufs, 20.0))
    louder = written(tmp_path / "c.wav", tone(lufs + 3, 20.0))

    assert measure_file(stereo).loudness_lufs == pytest.approx(lufs, abs=0.1)
    assert measure_file(mono).loudness_lufs == pytest.approx(lufs, abs=0.1)
    assert (missed(stereo, preset), missed(mono, preset), missed(louder, preset)) == (set(), set(), {"loudness"})


def test_silence_has_figures_and_a_file_without_sound_has_none(tmp_path: Path) -> None:
    silent = measure_file(written(tmp_path / "a.wav", np.zeros((1, RATE_HZ), np.float32)))
    (tmp_path / "b.wav").write_bytes(b"RIFF but nothing else")

    assert (silent.rms_db, silent.peak_db, silent.head_s) == (-math.inf, -math.inf, 1.0)
    with pytest.raises(NotAudio, match=r"b\.wav"):
        measure_file(tmp_path / "b.wav")
    with pytest.raises(OSError, match="No such file"):
        measure_file(tmp_path / "c.wav")


def test_without_a_preset_nothing_is_judged(tmp_path: Path) -> None:
    found = measure_file(written(tmp_path / "a.wav", tone(-40, 0.2)))

    assert {each.is_met for each in figures(found, Preset())} == {None}


def test_files_of_one_book_are_alike(tmp_path: Path) -> None:
    one = measure_file(written(tmp_path / "a.wav", tone(-20, 0.5)))
    other = measure_file(written(tmp_path / "b.wav", tone(-20, 0.5, channels=2)))

    assert unlike([one, one]) == ()
    assert unlike([one, other]) == ("the files have different channels: 1, 2",)


def test_a_range_says_what_it_holds() -> None:
    assert [str(each) for each in (Range(), Range(1), Range(most=-3), Range(2, 2), Range(0.5, 1))] == [
        "any",
        "at least 1",
        "at most -3",
        "2",
        "0.5 to 1",
    ]
    assert Range(0.5, 1).holds(1)
    assert not Range(0.5, 1).holds(1.01)
    assert set(Preset.__dataclass_fields__) - {"codecs", "output"} <= set(FileMeasures.__dataclass_fields__)
