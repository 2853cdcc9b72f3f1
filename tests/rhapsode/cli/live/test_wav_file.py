"""A WAV that is written while it is heard is whole or not there, and says its true sizes."""

from __future__ import annotations

import wave
from contextlib import suppress
from pathlib import Path

from rhapsode.cli.live.wav_file import HEADER_BYTES, UNKNOWN_BYTES, wav_file, wav_header
from rhapsode.client.live.chunks import AudioChunk

CHUNK = AudioChunk(b"\x01\x02" * 1920, 24_000)


def test_its_sizes_are_those_of_what_was_heard(tmp_path: Path) -> None:
    with wav_file(tmp_path / "x.wav") as file:
        for _ in range(3):
            file.write(CHUNK)
        assert not (tmp_path / "x.wav").exists()
        file.finish()

    data = (tmp_path / "x.wav").read_bytes()
    assert int.from_bytes(data[4:8], "little") == len(data) - 8
    assert int.from_bytes(data[40:44], "little") == len(data) - HEADER_BYTES
    with wave.open(str(tmp_path / "x.wav")) as wav:
        assert (wav.getframerate(), wav.getnchannels(), wav.getsampwidth()) == (24_000, 1, 2)
        assert wav.readframes(wav.getnframes()) == CHUNK.pcm * 3


def test_what_was_not_finished_leaves_nothing_and_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.wav").write_bytes(b"of before")

    with suppress(KeyboardInterrupt), wav_file(tmp_path / "x.wav") as file:
        file.write(CHUNK)
        raise KeyboardInterrupt

    assert [path.name for path in tmp_path.iterdir()] == ["x.wav"]
    assert (tmp_path / "x.wav").read_bytes() == b"of before"


def test_a_stream_says_that_its_size_is_not_known() -> None:
    header = wav_header(24_000, UNKNOWN_BYTES)

    assert len(header) == HEADER_BYTES
    assert header[4:8] == header[40:44] == b"\xff" * 4
