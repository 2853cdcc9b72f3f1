"""`rhapsode jobs listen` into a file: its header says how long it is, however it ended."""

from __future__ import annotations

import io
import os
import signal
import struct
import wave
from pathlib import Path
from typing import Any

import pytest

from rhapsode import Job
from rhapsode.cli.jobs.wav_sizes import WavSizes, sizes
from rhapsode.stack.stack import Stack
from tests.rhapsode.cli.jobs.conftest import PATIENCE_S
from tests.waiting import until

UNKNOWN = struct.pack("<I", 0xFFFFFFFF)
SAMPLES = bytes(range(250)) * 4


def streamed(samples: bytes) -> bytes:
    """A WAV whose length was not known, with a chunk before its samples."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((1, 2, 24_000, 0, "NONE", ""))
    form = buffer.getvalue()[12:36]
    return b"RIFF" + UNKNOWN + b"WAVE" + form + b"note" + struct.pack("<I", 3) + b"abc\0" + b"data" + UNKNOWN + samples


@pytest.mark.parametrize("before", [b"", b"something else"], ids=["whole-file", "behind-something"])
def test_a_file_that_came_in_pieces_says_its_length(tmp_path: Path, before: bytes) -> None:
    data = streamed(SAMPLES)
    with (tmp_path / "heard.wav").open("wb") as file:
        file.write(before)
        file.flush()
        header = WavSizes(file.fileno())
        for start in range(0, len(data), 7):
            header.will_write(data[start : start + 7])
            file.write(data[start : start + 7])
        file.flush()
        header.mend()

    with wave.open(io.BytesIO((tmp_path / "heard.wav").read_bytes()[len(before) :])) as heard:
        assert heard.readframes(heard.getnframes()) == SAMPLES


def test_half_a_sample_at_the_end_is_not_counted() -> None:
    data = streamed(SAMPLES + b"x")

    assert sizes(data, len(data))[1][1] == len(SAMPLES)


def test_what_cannot_be_mended_is_left(tmp_path: Path) -> None:
    (tmp_path / "log.wav").write_bytes(b"")
    data = streamed(SAMPLES)
    reader, writer = os.pipe()
    with (tmp_path / "log.wav").open("ab") as appended, open(reader, "rb"), open(writer, "wb") as pipe:
        for file in (appended, pipe):
            header = WavSizes(file.fileno())
            header.will_write(data)
            file.write(data)
            file.flush()
            header.mend()

    assert (tmp_path / "log.wav").read_bytes() == data
    assert sizes(b"OggS" + bytes(100), 104) == ()


def test_a_stream_that_is_interrupted_leaves_a_file_of_its_own_length(
    start_cli: Any, stack: Stack, half_told: Job, tmp_path: Path
) -> None:
    path = tmp_path / "heard.wav"
    process = start_cli("jobs", "listen", half_told.id, "-o", "heard.wav", "--server", stack.url)
    until(lambda: path.exists() and path.stat().st_size >= 10_000)

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)

    with wave.open(str(path)) as heard:
        assert process.returncode == 130
        assert heard.getnframes() == (path.stat().st_size - 44) // 2
