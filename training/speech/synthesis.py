"""Speak the corpus with both voices until the time is up.

    python -m training.speech.synthesis --corpus corpus.tsv --voices UNPACKED --out DIR --jobs 16 --seconds 480

UNPACKED is where the Debian packages of festival and flite were unpacked; festival also wants its data at
/usr/share/festival. Job k writes parts of about ten minutes, DIR/<speaker>-<k>-<part>.pcm (int16, 24 kHz, every
utterance padded to whole frames) and, once the part is complete, DIR/<speaker>-<k>-<part>.jsonl, one object a line:
    id, split, text, speaker, start (frame), frames, phones [[name, end_s], ...], tokens [[start_s, end_s] | null, ...]
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import soxr

from training.corpus.rows import read_rows, spoken_words
from training.dimensions import SAMPLE_RATE_HZ, SAMPLES_PER_FRAME, SPEAKERS
from training.speech.voices import (
    FESTIVAL,
    FestivalSlt,
    FliteVoice,
    FloatArray,
    Spoken,
    Voice,
    VoiceFailed,
    flite_libraries,
)
from training.steps import Unusable, run_step, step_parser

logger = logging.getLogger(__name__)

# Kept before the first and after the last sound.
_EDGE_S = 0.08
# Gains that bring both voices to a root mean square of about 0.065 of full scale.
_LOUDNESS = {"slt": 1.0, "rms": 0.75}
_MAX_S = 22.0
_PART_FRAMES = 7_500
# Rows of each ten that the slower voice speaks.
_SLT_ROWS = 3


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the corpus for one speaker, by its place in `SPEAKERS`."""

    number: int
    split: str
    text: str
    spoken: str
    speaker: int


def main(argv: Sequence[str] | None = None) -> None:
    arguments = _parser().parse_args(argv)
    _require_teachers(arguments.voices)
    arguments.out.mkdir(parents=True, exist_ok=True)
    lines = read_lines(arguments.corpus)[: arguments.limit or None]
    deadline_s = time.monotonic() + arguments.seconds
    processes = [
        multiprocessing.Process(
            target=_speak_part,
            args=(job, lines[job :: arguments.jobs], arguments.voices, arguments.out, deadline_s),
        )
        for job in range(arguments.jobs)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        raise Unusable("a job ended before its time, see above")


def _parser() -> argparse.ArgumentParser:
    parser = step_parser(__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--voices", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this many seconds")
    parser.add_argument("--limit", type=int, default=0, help="rows at most")
    return parser


def _require_teachers(voices: Path) -> None:
    """Raises Unusable naming what is missing: a teacher that is not there would fail sentence by sentence."""
    missing = [str(path) for path in (FESTIVAL, *flite_libraries("rms")) if not (voices / path).exists()]
    if missing:
        raise Unusable(f"{voices} lacks {', '.join(missing)}; training/README.md says which packages to unpack there")


def read_lines(corpus: Path) -> list[Line]:
    """What is never trained on comes first and in both voices, each of the rest in one of them."""
    lines: list[Line] = []
    for row in read_rows(corpus):
        alone = SPEAKERS.index("slt" if row.number % 10 < _SLT_ROWS else "rms")
        speakers: Iterable[int] = (alone,) if row.split == "train" else range(len(SPEAKERS))
        lines += [Line(row.number, row.split, row.text, row.spoken, speaker) for speaker in speakers]
    return lines


def _speak_part(job: int, lines: Sequence[Line], voices: Path, out: Path, deadline_s: float) -> None:
    """In a process of its own."""
    speak_all(job, lines, (FestivalSlt(voices), FliteVoice(voices, "rms")), out, deadline_s)


def speak_all(job: int, lines: Sequence[Line], teachers: Sequence[Voice], out: Path, deadline_s: float) -> None:
    """teachers: one for each of `SPEAKERS`. deadline_s: on the monotonic clock."""
    sinks = [_Sink(out, name, job) for name in SPEAKERS]
    failed = 0
    for line in lines:
        if time.monotonic() > deadline_s:
            break
        try:
            spoken = teachers[line.speaker].speak(line.spoken)
        except VoiceFailed:
            failed += 1
            continue
        if len(spoken.tokens) == len(spoken_words(line.text)):
            sinks[line.speaker].write(line, spoken)
    for sink in sinks:
        sink.finish()
    logger.info("job %d: %s, %d failed", job, [f"{sink.hours:.2f} h" for sink in sinks], failed)


class _Sink:
    """The parts of one speaker and job."""

    def __init__(self, out: Path, speaker: str, job: int) -> None:
        self._out, self._name = out, f"{speaker}-{job}"
        self._gain = _LOUDNESS[speaker]
        self._records: list[str] = []
        self._pcm: BinaryIO | None = None
        self._part = self._frames = self._written = 0

    @property
    def hours(self) -> float:
        return (self._written + self._frames) * SAMPLES_PER_FRAME / SAMPLE_RATE_HZ / 3600

    def write(self, line: Line, spoken: Spoken) -> None:
        bounds = _speech_bounds(spoken)
        if bounds is None or bounds[1] - bounds[0] > _MAX_S:
            return
        start_s, end_s = bounds
        pcm = _whole_frames(_at_our_rate(spoken)[round(start_s * SAMPLE_RATE_HZ) : round(end_s * SAMPLE_RATE_HZ)])
        frames = len(pcm) // SAMPLES_PER_FRAME
        if self._pcm is None:
            self._pcm = self._path("pcm").open("wb")
        self._pcm.write((np.clip(pcm * self._gain, -1, 1) * 32767).astype("<i2").tobytes())
        record = {
            "id": line.number,
            "split": line.split,
            "text": line.text,
            "speaker": line.speaker,
            "start": self._frames,
            "frames": frames,
            "phones": [(name, round(max(0.0, min(end, end_s) - start_s), 3)) for name, end in spoken.phones],
            "tokens": [t and (round(t[0] - start_s, 3), round(t[1] - start_s, 3)) for t in spoken.tokens],
        }
        self._records.append(json.dumps(record) + "\n")
        self._frames += frames
        if self._frames >= _PART_FRAMES:
            self.finish()

    def finish(self) -> None:
        """Completes the part; its index appears last and at once."""
        if self._pcm is None:
            return
        self._pcm.close()
        temporary = self._path("tmp")
        temporary.write_text("".join(self._records), encoding="utf-8")
        temporary.replace(self._path("jsonl"))
        self._written += self._frames
        self._records, self._pcm, self._frames = [], None, 0
        self._part += 1

    def _path(self, kind: str) -> Path:
        return self._out / f"{self._name}-{self._part}.{kind}"


def _speech_bounds(spoken: Spoken) -> tuple[float, float] | None:
    """From shortly before the first sound to shortly after the last."""
    sounding = [number for number, (name, _) in enumerate(spoken.phones) if name != "pau"]
    if not sounding:
        return None
    first = spoken.phones[sounding[0] - 1][1] if sounding[0] else 0.0
    last = spoken.phones[sounding[-1]][1]
    return max(0.0, first - _EDGE_S), min(len(spoken.samples) / spoken.rate_hz, last + _EDGE_S)


def _at_our_rate(spoken: Spoken) -> FloatArray:
    resampled: FloatArray = soxr.resample(spoken.samples, spoken.rate_hz, SAMPLE_RATE_HZ, quality="HQ")
    return resampled


def _whole_frames(samples: FloatArray) -> FloatArray:
    return np.pad(samples, (0, -len(samples) % SAMPLES_PER_FRAME))


if __name__ == "__main__":
    run_step(main)
