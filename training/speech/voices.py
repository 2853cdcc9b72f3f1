"""The two teachers: festival's us_slt HTS voice and flite's rms. Text in, samples and times out.

Both are deterministic: the same text gives the same samples. Neither is imported; festival runs as a process, flite
as a shared library.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import wave
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]


FESTIVAL = Path("usr/bin/festival")
"""Where it lies in a folder of unpacked packages."""


def flite_libraries(voice: str) -> tuple[Path, ...]:
    """Where they lie in a folder of unpacked packages; each needs those before it. voice: rms, slt, awb or kal16."""
    names = ("flite", "flite_usenglish", "flite_cmulex", f"flite_cmu_us_{voice}")
    return tuple(Path("usr/lib/x86_64-linux-gnu") / f"lib{name}.so.1" for name in names)


class VoiceFailed(Exception):
    """The voice did not speak this sentence; the next one may work."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a teacher said. Times are seconds.

    phones: name and end of each; tokens: start and end of each blank-separated word, None for one without sound.
    """

    samples: FloatArray
    rate_hz: int
    phones: tuple[tuple[str, float], ...]
    tokens: tuple[tuple[float, float] | None, ...]


class Voice(Protocol):
    def speak(self, text: str) -> Spoken: ...


# Prints one line per phone ("S name end") and per token ("T ((start end) ...)"), then "E".
_SCHEME = r"""
(voice_cmu_us_slt_arctic_hts)
(define (go text out)
  (set! u (utt.synth (eval (list 'Utterance 'Text text))))
  (utt.save.wave u out 'riff)
  (mapcar (lambda (s) (format t "S %s %f\n" (item.name s) (item.feat s "R:Segment.end"))) (utt.relation.items u 'Segment))
  (mapcar (lambda (tok)
     (format t "T %l\n" (mapcar (lambda (x) (list (item.feat x "word_start") (item.feat x "word_end")))
                                (item.relation.daughters tok 'Token))))
     (apply append (mapcar (lambda (i) (if (item.relation.parent i 'Token) nil (list i)))
                           (utt.relation.items u 'Token))))
  t)
"""  # noqa: E501


class FestivalSlt:
    """Festival's HTS voice of CMU ARCTIC slt, 32 kHz. Not thread-safe."""

    def __init__(self, unpacked: Path) -> None:
        self._program = unpacked / FESTIVAL
        self._folder = tempfile.TemporaryDirectory()
        self._wave = Path(self._folder.name) / "spoken.wav"
        self._process: subprocess.Popen[str] | None = None

    def speak(self, text: str) -> Spoken:
        quoted = text.replace("\\", "").replace('"', "")
        try:
            process = self._running()
            assert process.stdin is not None  # noqa: S101  (a pipe was asked for)
            process.stdin.write(f'(unwind-protect (go "{quoted}" "{self._wave}") t) (format t "E\\n") (fflush nil)\n')
            process.stdin.flush()
            phones, tokens = _festival_report(process)
        except OSError as error:
            self._process = None
            raise VoiceFailed(f"festival stopped at {text!r}") from error
        with wave.open(str(self._wave)) as file:
            rate_hz = file.getframerate()
            pcm = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        return Spoken(pcm.astype(np.float32) / np.float32(32768), rate_hz, tuple(phones), tuple(tokens))

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [str(self._program), "--pipe"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                bufsize=1,
            )
            assert self._process.stdin is not None  # noqa: S101  (a pipe was asked for)
            self._process.stdin.write(_SCHEME)
            self._process.stdin.flush()
        return self._process


def _festival_report(
    process: subprocess.Popen[str],
) -> tuple[list[tuple[str, float]], list[tuple[float, float] | None]]:
    phones: list[tuple[str, float]] = []
    tokens: list[tuple[float, float] | None] = []
    assert process.stdout is not None  # noqa: S101  (a pipe was asked for)
    for line in process.stdout:
        fields = line.split()
        if not fields:
            continue
        if fields[0] == "S":
            phones.append((fields[1], float(fields[2])))
        elif fields[0] == "T":
            times = [float(x) for x in line[1:].translate(str.maketrans("()", "  ")).replace("nil", " ").split()]
            tokens.append(_token(times[0], max(times[1::2])) if times else None)
        elif fields[0] == "E":
            return phones, tokens
    raise OSError("festival closed its output")


def _token(start_s: float, end_s: float) -> tuple[float, float] | None:
    return (start_s, end_s) if end_s > start_s else None


class _FliteWave(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_char_p),
        ("rate_hz", ctypes.c_int),
        ("num_samples", ctypes.c_int),
        ("num_channels", ctypes.c_int),
        ("samples", ctypes.POINTER(ctypes.c_short)),
    )


_POINTER, _TEXT = ctypes.c_void_p, ctypes.c_char_p
_FLITE_FUNCTIONS: tuple[tuple[str, object, tuple[object, ...]], ...] = (
    ("flite_synth_text", _POINTER, (_TEXT, _POINTER)),
    ("utt_relation", _POINTER, (_POINTER, _TEXT)),
    ("utt_wave", _POINTER, (_POINTER,)),
    ("delete_utterance", None, (_POINTER,)),
    ("relation_head", _POINTER, (_POINTER,)),
    ("item_next", _POINTER, (_POINTER,)),
    ("item_daughter", _POINTER, (_POINTER,)),
    ("item_last_daughter", _POINTER, (_POINTER,)),
    ("item_feat_float", ctypes.c_float, (_POINTER, _TEXT)),
    ("item_feat_string", _TEXT, (_POINTER, _TEXT)),
    ("ffeature_float", ctypes.c_float, (_POINTER, _TEXT)),
)
_WORD_START = b"R:SylStructure.daughter1.daughter1.R:Segment.p.end"
_WORD_END = b"R:SylStructure.daughtern.daughtern.R:Segment.end"


class FliteVoice:
    """A voice of flite at 16 kHz: rms, slt and awb are clustergen voices of CMU ARCTIC, kal16 joins diphones. Not
    thread-safe."""

    def __init__(self, unpacked: Path, voice: str) -> None:
        libraries = flite_libraries(voice)
        loaded = [ctypes.CDLL(str(unpacked / library), mode=ctypes.RTLD_GLOBAL) for library in libraries]
        self._flite = loaded[0]
        for name, result, arguments in _FLITE_FUNCTIONS:
            function = getattr(self._flite, name)
            function.restype, function.argtypes = result, arguments
        self._flite.flite_init()
        register = getattr(loaded[-1], f"register_cmu_us_{voice}")
        register.restype, register.argtypes = _POINTER, (_TEXT,)
        self._voice = register(None)

    def speak(self, text: str) -> Spoken:
        flite = self._flite
        utterance = flite.flite_synth_text(text.encode("ascii", "ignore"), self._voice)
        if not utterance:
            raise VoiceFailed(f"flite has nothing for {text!r}")
        try:
            wave_at = flite.utt_wave(utterance)
            if not wave_at:
                raise VoiceFailed(f"flite has no sound for {text!r}")
            sound = ctypes.cast(wave_at, ctypes.POINTER(_FliteWave)).contents
            pcm = np.ctypeslib.as_array(sound.samples, (sound.num_samples,)).astype(np.float32) / np.float32(32768)
            return Spoken(pcm, sound.rate_hz, self._phones(utterance), self._tokens(utterance))
        finally:
            flite.delete_utterance(utterance)

    def _phones(self, utterance: int) -> tuple[tuple[str, float], ...]:
        flite, found = self._flite, []
        item = flite.relation_head(flite.utt_relation(utterance, b"Segment"))
        while item:
            found.append((flite.item_feat_string(item, b"name").decode(), flite.item_feat_float(item, b"end")))
            item = flite.item_next(item)
        return tuple(found)

    def _tokens(self, utterance: int) -> tuple[tuple[float, float] | None, ...]:
        flite, found = self._flite, []
        item = flite.relation_head(flite.utt_relation(utterance, b"Token"))
        while item:
            first, last = flite.item_daughter(item), flite.item_last_daughter(item)
            if first and last:
                found.append(_token(flite.ffeature_float(first, _WORD_START), flite.ffeature_float(last, _WORD_END)))
            else:
                found.append(None)
            item = flite.item_next(item)
        return tuple(found)
