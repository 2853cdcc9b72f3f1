"""Players of samples: PortAudio through `sounddevice`, else FFmpeg's `ffplay`."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, cast

from rhapsode.cli.live.wav_file import UNKNOWN_BYTES, wav_header
from rhapsode.errors import RhapsodeError

if TYPE_CHECKING:
    from types import ModuleType

LATENCY_S = 0.1
"""The device's buffer. A smaller one causes gaps on a machine that also generates speech."""

_FFPLAY = ("ffplay", "-nodisp", "-autoexit", "-hide_banner", "-loglevel", "error", "-fflags", "nobuffer")
_AT_ONCE = ("-probesize", "32", "-analyzeduration", "0", "-f", "wav", "-i", "pipe:0")


class NoPlayer(RhapsodeError):
    """No player is installed. The message says how to install one."""


def find_player() -> OpenPlayer:
    """Raises `NoPlayer`."""
    sounddevice = _load_sounddevice()
    if not isinstance(sounddevice, str):
        return lambda rate_hz: _SoundDevice(sounddevice, rate_hz)
    if shutil.which(_FFPLAY[0]):
        return _Ffplay
    raise NoPlayer(
        f"no audio player is installed: {sounddevice}, and ffplay is not on PATH; get one (pip install sounddevice, "
        "or FFmpeg from your system's packages), or write a file: --save x.wav --no-play"
    )


def _load_sounddevice() -> ModuleType | str:
    """The module, or why it cannot be used."""
    try:
        import sounddevice
    except ImportError:
        return "sounddevice is not installed"
    except OSError:
        return "sounddevice finds no PortAudio (apt install libportaudio2)"
    try:
        sounddevice.query_devices(kind="output")
    except (sounddevice.PortAudioError, ValueError):
        return "sounddevice finds no output device"
    return sounddevice


class _SoundDevice:
    """`write` returns when the device has room, `finish` after the last sample. `stop` is for any thread."""

    def __init__(self, sounddevice: ModuleType, rate_hz: int) -> None:
        self._fault = sounddevice.PortAudioError
        try:
            self._stream = sounddevice.RawOutputStream(rate_hz, channels=1, dtype="int16", latency=LATENCY_S)
            self._stream.start()
        except self._fault as error:
            raise RhapsodeError(f"the sound device cannot be opened: {error}") from error

    def write(self, pcm: bytes) -> None:
        try:
            self._stream.write(pcm)
        except self._fault as error:
            raise RhapsodeError(f"the sound device fails: {error}") from error

    def finish(self) -> None:
        self._stream.stop()
        self._stream.close()

    def stop(self) -> None:
        self._stream.abort()


class _Ffplay:
    """Has a separate session, so that Ctrl-C does not reach it."""

    def __init__(self, rate_hz: int) -> None:
        self._process = subprocess.Popen(
            (*_FFPLAY, *_AT_ONCE),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.write(wav_header(rate_hz, UNKNOWN_BYTES))

    def write(self, pcm: bytes) -> None:
        pipe = cast("IO[bytes]", self._process.stdin)
        try:
            pipe.write(pcm)
            pipe.flush()
        except BrokenPipeError:
            self.finish()
            raise RhapsodeError("ffplay ended before the speech did") from None

    def finish(self) -> None:
        _, said = self._process.communicate()
        if self._process.returncode:
            raise RhapsodeError(f"ffplay: {said.decode(errors='replace').strip() or self._process.returncode}")

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


Player = _SoundDevice | _Ffplay
OpenPlayer = Callable[[int], Player]
"""By sample rate."""
