"""Recordings from strangers: decoded exactly, refused with the reason, and never more than a nuisance."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from storage.audio.recording_verdict import Repair
from storage.audio.recordings import (
    Container,
    DecoderBroken,
    RecordingRefused,
    RefusalCode,
    decode_recording,
    inspect_recording,
    sniff_container,
)
from storage.audio.wav import wav_header
from tests.storage.runtime.fork_server.programs import fork_server_of
from tests.worker.voices.reference_audio.sounds import ENCODED, KINDS, encoded, file_of, tone

HERE = Path(__file__).parent
NUM_DAMAGED_FILES = 1_000
MAX_GROWTH_KB = 64 * 1024


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_recording_is_decoded(kind: str) -> None:
    rate = 48_000 if kind == "ogg-opus" else 16_000
    recording = decode_recording(file_of(tone(1.5, rate), rate, kind))

    pcm = np.frombuffer(recording.pcm, np.float32)
    assert recording.facts.container == Container(kind.split("-")[0])
    assert (recording.facts.sample_rate_hz, recording.facts.num_channels) == (rate, 1)
    assert recording.facts.duration_s == pytest.approx(1.5, abs=0.1)
    assert pcm.size == recording.facts.num_samples
    assert float(np.sqrt(np.mean(pcm**2))) == pytest.approx(0.3 / np.sqrt(2), rel=0.25)


def test_channels_become_their_mean_bit_for_bit() -> None:
    left, right = tone(1.0), tone(1.0, level=0.1)

    recording = decode_recording(file_of(np.stack([left, right], axis=1), kind="wav-float"))

    expected = np.stack([left, right], axis=1).mean(axis=1, dtype=np.float32)
    assert np.array_equal(np.frombuffer(recording.pcm, np.float32), expected)
    assert recording.facts.num_channels == 2


def test_an_upload_on_disk_is_inspected_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "upload"
    path.write_bytes(file_of(tone(2.0), kind="flac"))

    with path.open("rb") as file:
        file.seek(100)
        facts = inspect_recording(file)

    assert facts.duration_s == 2.0


def with_field(data: bytes, at: int, value: bytes) -> bytes:
    return data[:at] + value + data[at + len(value) :]


def silence() -> bytes:
    return file_of(np.zeros(16_000, np.float32))


REFUSED: dict[str, tuple[Callable[[], bytes], RefusalCode, str]] = {
    "text": (lambda: b"It was a dark and stormy night.", RefusalCode.UNSUPPORTED_MEDIA, "not a WAV"),
    "nothing": (lambda: b"", RefusalCode.UNSUPPORTED_MEDIA, "not a WAV"),
    "gzip": (lambda: b"\x1f\x8b\x08" + bytes(1_000), RefusalCode.UNSUPPORTED_MEDIA, "not a WAV"),
    "aiff": (lambda: b"FORM\x00\x00\x10\x00AIFFCOMM" + bytes(100), RefusalCode.UNSUPPORTED_MEDIA, "not a WAV"),
    "empty riff": (lambda: b"RIFF\xff\xff\xff\xffWAVE", RefusalCode.UNREADABLE, "damaged"),
    "short": (lambda: file_of(tone(0.99)), RefusalCode.TOO_SHORT, "0.99 s"),
    "channels": (lambda: file_of(np.zeros((20_000, 9), np.float32)), RefusalCode.TOO_MANY_CHANNELS, "9 channels"),
    "rate": (lambda: file_of(tone(2.0), 4_000), RefusalCode.BAD_RATE, "4000 samples"),
    "absurd rate": (
        lambda: with_field(file_of(tone(2.0)), 24, struct.pack("<I", 2_000_000_000)),
        RefusalCode.BAD_RATE,
        "2000000000 samples",
    ),
    "nan": (lambda: file_of(np.full(20_000, np.nan, np.float32), kind="wav-float"), RefusalCode.NOT_FINITE, "finite"),
    "infinity": (
        lambda: file_of(np.r_[tone(1.0), np.float32(np.inf)], kind="wav-float"),
        RefusalCode.NOT_FINITE,
        "finite",
    ),
    "silence": (silence, RefusalCode.SILENT, "silent"),
    "clipped": (lambda: file_of(np.clip(tone(1.0, level=2.0), -1, 1)), RefusalCode.CLIPPED, "is clipped"),
    "huge numbers": (lambda: file_of(tone(1.0) * 1e6, kind="wav-float"), RefusalCode.CLIPPED, "full scale"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_usable_recording_is_refused_with_its_reason(name: str) -> None:
    make, code, reason = REFUSED[name]

    with pytest.raises(RecordingRefused) as refused:
        decode_recording(make())

    assert refused.value.code is code
    assert reason in refused.value.detail


@pytest.mark.parametrize("size", [0, 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_the_length_a_header_claims_makes_no_difference_to_what_is_decoded(size: int) -> None:
    whole = file_of(tone(1.5))
    lying = with_field(with_field(whole, 40, struct.pack("<I", size)), 4, struct.pack("<I", size))

    assert outcome_of(lying) in {"24000 samples", RefusalCode.TOO_SHORT, RefusalCode.UNREADABLE}


def outcome_of(data: bytes) -> str:
    try:
        return f"{decode_recording(data).facts.num_samples} samples"
    except RecordingRefused as refused:
        return refused.code


@pytest.mark.parametrize("kind", ["wav", "flac", "mp3", "webm"])
def test_of_a_long_recording_the_part_with_most_speech_is_used(kind: str) -> None:
    """A minute of a room, of which the first seconds are clipped, then a minute of speech, then the room again."""
    rate = 48_000 if kind == "webm" else 16_000
    room = np.full(70 * rate, 1e-4, np.float32)
    whole = np.r_[np.sign(tone(10.0, rate)), room, tone(60.0, rate), room]

    recording = decode_recording(encoded(whole, kind) if kind == "webm" else file_of(whole, rate, kind))

    assert recording.facts.repairs == (Repair.CUT,)
    assert 58.5 < recording.facts.duration_s <= 60
    pcm = np.frombuffer(recording.pcm, np.float32)
    assert pcm.size == recording.facts.num_samples
    seconds = np.abs(pcm[: pcm.size // rate * rate].reshape(-1, rate)).max(axis=1)
    assert np.count_nonzero(seconds > 0.1) >= 58
    assert seconds.max() < 0.5


def test_a_recording_of_a_minute_is_used_whole() -> None:
    assert decode_recording(file_of(tone(60.0))).facts.repairs == ()
    assert decode_recording(file_of(tone(60.1))).facts.repairs == (Repair.CUT,)


def test_the_text_of_a_recording_that_was_cut_is_refused() -> None:
    facts = decode_recording(file_of(tone(61.0))).facts

    facts.refuse_text(" ")
    with pytest.raises(RecordingRefused, match="leave `ref_text` out"):
        facts.refuse_text("All that was said.")


@pytest.mark.parametrize("left_level", [0.3, 0.25])
def test_a_channel_of_inverted_phase_is_turned_back(left_level: float) -> None:
    left, right = tone(2.0, level=left_level), -tone(2.0)

    recording = decode_recording(file_of(np.stack([left, right], axis=1), kind="wav-float"))

    assert recording.facts.repairs == (Repair.PHASE,)
    assert np.allclose(np.frombuffer(recording.pcm, np.float32), (left - right) / 2)


@pytest.mark.parametrize("right", [np.zeros(16_000), np.roll(tone(1.0), 11), np.roll(tone(1.0), 20)])
def test_channels_that_differ_in_another_way_stay_their_mean(right: NDArray[np.float32]) -> None:
    left = tone(1.0)

    recording = decode_recording(file_of(np.stack([left, right], axis=1).astype(np.float32), kind="wav-float"))

    assert recording.facts.repairs == ()
    assert np.allclose(np.frombuffer(recording.pcm, np.float32), (left + right) / 2, atol=1e-6)


def test_of_hours_in_a_few_bytes_a_bounded_part_is_decoded() -> None:
    silent = file_of(np.zeros((2 * 3_600 * 8_000, 1), np.float32), 8_000, "flac")
    assert len(silent) < 320_000

    with pytest.raises(RecordingRefused) as refused:
        decode_recording(silent)
    assert refused.value.code is RefusalCode.SILENT

    wide = np.zeros((320 * 96_000, 2), np.float32)
    wide[:, 0] = np.resize(np.array([0.1, -0.1], np.float32), len(wide))
    recording = decode_recording(file_of(wide, 96_000, "flac"))
    assert recording.facts.repairs == (Repair.CUT,)
    assert recording.facts.duration_s == pytest.approx(60, abs=0.2)


def test_a_thousand_damaged_recordings_neither_crash_the_decoder_nor_fill_its_memory(tmp_path: Path) -> None:
    for kind in KINDS:
        rate = 48_000 if kind == "ogg-opus" else 8_000
        (tmp_path / kind).write_bytes(file_of(tone(1.2, rate), rate, kind))
    for kind in ENCODED:
        (tmp_path / kind).write_bytes(encoded(tone(1.2, 48_000), kind))

    fuzz = subprocess.run(
        [sys.executable, str(HERE / "fuzz.py"), str(tmp_path), str(NUM_DAMAGED_FILES)],
        capture_output=True,
        timeout=120,
        check=False,
    )

    assert fuzz.returncode == 0, fuzz.stderr.decode()[-2_000:]
    result = json.loads(fuzz.stdout)
    assert sum(result["outcomes"].values()) == NUM_DAMAGED_FILES
    assert set(result["outcomes"]) <= {"decoded", *RefusalCode}
    assert result["outcomes"]["unreadable"] > NUM_DAMAGED_FILES / 20
    assert result["grown_kb"] < MAX_GROWTH_KB


def findings(task: str) -> list[str]:
    """What a child of our own finds; it answers as the refusal that the caller gets."""
    tell = "say({'refused': 'unreadable', 'detail': json.dumps(found)})"
    with fork_server_of(f"found = []\n{task}\n{tell}") as decoders, pytest.raises(RecordingRefused) as refused:
        decode_recording(silence(), decoders)
    found: list[str] = json.loads(refused.value.detail)
    return found


def test_the_decoder_can_open_neither_file_nor_socket_nor_process() -> None:
    task = """
for what, attempt in {
    'file': lambda: open('/etc/hostname'),
    'socket': lambda: socket.socket(),
    'process': lambda: os.posix_spawn('/bin/true', ['true'], {}, file_actions=[(os.POSIX_SPAWN_DUP2, 0, 9)]),
    'memory': lambda: bytearray(2 << 30),
}.items():
    try:
        attempt()
        found.append(what)
    except (OSError, MemoryError):
        pass
"""

    assert findings(task) == []


def test_the_decoder_sees_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHAPSODE_URL_SECRET", "between us")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "between us")

    names = findings("found = sorted(os.environ)")

    assert {"RHAPSODE_URL_SECRET", "AWS_SECRET_ACCESS_KEY"} <= os.environ.keys()
    assert not [name for name in names if name.startswith(("RHAPSODE", "AWS"))]


def test_a_recording_that_kills_its_decoder_is_refused() -> None:
    with (
        fork_server_of("os.kill(os.getpid(), 11)") as decoders,
        pytest.raises(RecordingRefused, match="cannot be decoded"),
    ):
        decode_recording(silence(), decoders)


def test_a_decoder_that_does_not_run_is_not_blamed_on_the_recording() -> None:
    with fork_server_of("", "import soundfiles") as decoders, pytest.raises(DecoderBroken, match="No module named"):
        decode_recording(silence(), decoders)
    with fork_server_of("print('hello')") as decoders, pytest.raises(DecoderBroken, match="no verdict"):
        decode_recording(silence(), decoders)


def test_containers_are_told_by_their_bytes() -> None:
    assert sniff_container(b"ID3\x04" + bytes(8)) is Container.MP3
    assert sniff_container(b"\xff\xfb\x90\x00" + bytes(8)) is Container.MP3
    assert sniff_container(b"\xff\xf1\x50\x80" + bytes(8)) is Container.AAC
    for head in (b"RIFF\x00\x00\x00\x00AVI ", b"\xff\xd8\xff\xe0" + bytes(8)):
        with pytest.raises(RecordingRefused):
            sniff_container(head)


@pytest.mark.parametrize(
    ("kind", "container"),
    [("m4a", Container.MP4), ("mp4", Container.MP4), ("webm", Container.WEBM), ("aac", Container.AAC)],
)
def test_recordings_of_telephones_and_browsers_are_decoded(kind: str, container: Container) -> None:
    decoded = decode_recording(encoded(tone(2, 48_000), kind))

    assert (decoded.facts.container, decoded.facts.num_channels) == (container, 1)
    assert decoded.facts.duration_s == pytest.approx(2, abs=0.1)
    assert np.sqrt(np.square(np.frombuffer(decoded.pcm, np.float32)).mean()) == pytest.approx(0.21, abs=0.02)


def test_a_film_that_is_cut_off_is_refused() -> None:
    data = encoded(tone(2, 48_000), "mp4")

    with pytest.raises(RecordingRefused) as refused:
        decode_recording(data[: len(data) // 2])
    assert refused.value.code in (RefusalCode.UNREADABLE, RefusalCode.TOO_SHORT)


@pytest.mark.parametrize(
    "sizes", [(0, 0), (0x7FFFFFFF, 0x7FFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (2_000_000_036, 2_000_000_000)]
)
def test_sizes_that_were_never_filled_in_take_nothing_away(sizes: tuple[int, int]) -> None:
    data = bytearray(file_of(tone(4)))
    assert data[36:40] == b"data"
    data[4:8], data[40:44] = (size.to_bytes(4, "little") for size in sizes)

    assert decode_recording(bytes(data)).facts.duration_s == 4


def test_rf64_is_wav() -> None:
    pcm = (tone(2) * 32767).astype("<i2").tobytes()
    header = wav_header(2 * 16_000, 16_000)
    sizes = struct.pack("<4sIQQQI", b"ds64", 28, 72 + len(pcm), len(pcm), 2 * 16_000, 0)
    data = b"RF64\xff\xff\xff\xffWAVE" + sizes + header[12:40] + b"\xff\xff\xff\xff" + pcm

    assert decode_recording(data).facts.duration_s == 2
