"""A full disk ends an assembly in a way that is tried again, wherever it is noticed."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from rhapsode.contract.jobs.output import AudioFormat, OutputFormat
from storage.audio.description import Description
from storage.errors import StoreUnavailable
from worker.assembly.audio.audio_files import audio_file, scratch_bytes
from worker.assembly.audio.scratch import require_room, scratch_file
from worker.assembly.codes_file import CodesFile

FULL = Path("/dev/full")
FORMATS = [
    OutputFormat(type=AudioFormat.FLAC),
    OutputFormat(type=AudioFormat.MP3, bitrate_kbps=96),
    OutputFormat(type=AudioFormat.M4B, bitrate_kbps=96),
]


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files are on a device of the kernel's that has no room."""
    if not FULL.exists():
        pytest.skip("no /dev/full on this system")

    def on_the_device(**_: object) -> IO[bytes]:
        return FULL.open("r+b", buffering=0)

    monkeypatch.setattr(tempfile, "TemporaryFile", on_the_device)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.type)
def test_no_room_for_a_file(form: OutputFormat, full_disk: None) -> None:
    noise = np.random.default_rng(1).integers(-9_000, 9_000, 48_000).astype("<i2").tobytes()

    with pytest.raises(StoreUnavailable, match="no temporary file"):
        list(audio_file(form, 24_000, 960_000, Description(), [noise] * 20))


def test_no_room_for_frames(full_disk: None) -> None:
    with pytest.raises(StoreUnavailable, match="no temporary file"), scratch_file() as scratch:
        CodesFile(scratch).add(np.zeros((10, 16), np.int16))


def test_room_is_asked_for_before_the_work() -> None:
    size = partial(scratch_bytes, sample_rate_hz=24_000, num_samples=24_000 * 3600)

    assert size(OutputFormat(type=AudioFormat.WAV)) == size(OutputFormat(type=AudioFormat.OPUS, bitrate_kbps=48)) == 0
    assert size(OutputFormat(type=AudioFormat.MP3, bitrate_kbps=96)) == 96_000 // 8 * 3600
    require_room(0)
    require_room(1)
    with pytest.raises(StoreUnavailable, match="MiB free"):
        require_room(10**15)
