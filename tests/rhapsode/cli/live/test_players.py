"""What plays samples: which is chosen, what it is given, and how its faults are told."""

from __future__ import annotations

import sys
import wave
from pathlib import Path

import pytest

from rhapsode.cli.live.playback import playback
from rhapsode.cli.live.players import NoPlayer, OpenPlayer, find_player
from rhapsode.client.live.chunks import AudioChunk
from rhapsode.errors import RhapsodeError

CHUNK = AudioChunk(b"\x01\x02" * 1920, 24_000)


@pytest.fixture
def only_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH, on a machine whose `sounddevice` finds no PortAudio."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "sounddevice.py").write_text("raise OSError('PortAudio library not found')\n")
    monkeypatch.syspath_prepend(tmp_path / "modules")
    monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    monkeypatch.setenv("PATH", str(bin_folder))
    return bin_folder


def put_ffplay(folder: Path, script: str) -> OpenPlayer:
    """A program of this name, which does as the script says."""
    program = folder / "ffplay"
    program.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    program.chmod(0o755)
    return find_player()


def test_where_nothing_plays_it_is_said_in_one_line_how_to_get_what_does(only_here: Path) -> None:
    with pytest.raises(NoPlayer, match=r"libportaudio2.*ffplay is not on PATH.*--save x\.wav --no-play") as told:
        find_player()

    assert "\n" not in str(told.value)


def test_ffplay_is_given_a_wav_as_it_comes(only_here: Path, tmp_path: Path) -> None:
    open_player = put_ffplay(only_here, f"cat > {tmp_path}/heard.wav")

    with playback(open_player) as played:
        for _ in range(3):
            played.write(CHUNK)
        played.finish()

    with wave.open(str(tmp_path / "heard.wav")) as heard:
        assert heard.getframerate() == 24_000
        assert heard.readframes(3 * 1920) == CHUNK.pcm * 3


def test_a_player_that_gives_up_is_told_of(only_here: Path) -> None:
    open_player = put_ffplay(only_here, "echo 'no sound card' >&2; exit 1")

    def play_on() -> None:
        with playback(open_player) as played:
            while True:
                played.write(CHUNK)

    with pytest.raises(RhapsodeError, match="no sound card"):
        play_on()


def test_what_is_stopped_is_silent_at_once(only_here: Path) -> None:
    # It never reads: what waits for it to take what was written waits for ever.
    open_player = put_ffplay(only_here, "exec sleep 1000")

    with playback(open_player) as played:
        for _ in range(1000):
            played.write(CHUNK)
