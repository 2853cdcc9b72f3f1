"""Words a minute of Kokoro's voices, pauses included, and the speed that brings each to the pace asked for.

    python benchmarks/voices/kokoro_pace.py [--text FILE] [--voice af_heart] [--wanted 160]

The text is divided as a job divides it. The model plans each segment, which gives its length to the sample and takes
3 % of the time of speaking it. Silence at the edges, which the worker cuts off, is measured on the sound of the edges
of a few segments. Pauses are those between the segments. Words are those of the text as it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np

from benchmarks.rig import FABLES, parser
from reading.plan.plan import PlanSegment
from reading.script.script import plain_script
from reading.segmenting.lengths import LengthRules
from reading.segmenting.segmentation import segment_script
from reading.spelling.normalizers import NORMALIZERS
from reading.spelling.respelling import respelt
from rhapsode.contract.jobs.input import Pauses, SegmentationMode
from storage.segments.timeline import num_gap_samples
from worker.engine.interface import BuiltInSpeaker, SpeechRequest
from worker.engine.kokoro.description import MAX_TEXT_CHARS, describe_kokoro
from worker.engine.kokoro.files import read_model, read_symbols, read_voices
from worker.engine.kokoro.model import SAMPLE_RATE_HZ, SAMPLES_PER_FRAME, KokoroModel, ModelCall, SoundPlan
from worker.engine.kokoro.speaking import utterance_of, without_edges
from worker.engine.kokoro.voices import KokoroVoices, pace_of
from worker.settings import PACKAGED
from worker.speech.audio.speech_edges import finish_edges

TEXTS = (FABLES, Path(__file__).with_name("report.txt"))
"""Easy prose and hard prose: 526 words of 3.9 and 5.1 letters."""
EDGE_FRAMES = 60
"""1.5 s: more than the silence and the end of a word."""
HEARD = 2
"""Segments whose edges are made."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds of a text by one voice."""

    speech_s: float
    pauses_s: float
    words: int

    @property
    def words_a_minute(self) -> float:
        return 60 * self.words / (self.speech_s + self.pauses_s)

    def speed_for(self, words_a_minute: float) -> float:
        """By how much faster the voice should speak."""
        return self.speech_s / (60 * self.words / words_a_minute - self.pauses_s)


class Planner:
    def __init__(self) -> None:
        folder = PACKAGED["kokoro"]
        self._info = describe_kokoro(folder)
        self._model = KokoroModel(read_model(), read_symbols(folder))
        self.voices = KokoroVoices(read_voices(folder))

    def pace(self, segments: Sequence[PlanSegment], words: int, voice: str) -> Pace:
        plans = [self._plan(each.spoken_text, voice) for each in segments]
        heard = np.linspace(0, len(plans) - 1, min(HEARD + 2, len(plans))).astype(int)[1:-1]
        edges_s = mean(self._edges_s(plans[number]) for number in heard)
        planned_s = sum(plan.num_frames for plan in plans) * SAMPLES_PER_FRAME / SAMPLE_RATE_HZ
        gaps = sum(num_gap_samples(each.pause_after_s, SAMPLE_RATE_HZ) for each in segments)
        return Pace(planned_s - edges_s * len(plans), gaps / SAMPLE_RATE_HZ, words)

    def _plan(self, text: str, voice: str) -> SoundPlan:
        said = utterance_of(SpeechRequest("pace", text, BuiltInSpeaker(voice)), self._info, self.voices, self._model)
        return self._model.plan(said.phones, said.pack[len(said.phones) - 1], said.speed, said.lead_speed, ModelCall())

    def _edges_s(self, plan: SoundPlan) -> float:
        """Silence that is cut off before and behind the speech."""
        first = min(plan.lead + EDGE_FRAMES // 2, plan.num_frames)
        last = max(first, plan.num_frames - EDGE_FRAMES)
        ranges = ((0, first), (last, plan.num_frames))
        pcm = np.concatenate([self._model.sound(plan, start, end, ModelCall()) for start, end in ranges if start < end])
        return (len(pcm) - len(finish_edges(without_edges(pcm), SAMPLE_RATE_HZ))) / SAMPLE_RATE_HZ


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--text", type=Path, action="append", help="prose; default: fables and a report")
    options.add_argument("--voice", action="append", help="repeat it; default: all")
    options.add_argument("--wanted", type=float, default=160.0, help="words a minute")
    given = options.parse_args()
    planner = Planner()
    texts = [file.read_text(encoding="utf-8") for file in given.text or TEXTS]
    segments = [each for text in texts for each in _segments(text)]
    words = sum(len(text.split()) for text in texts)
    print(f"{words} words, {len(segments)} segments\n")
    print(f"| voice | its speed | words a minute | speed for {given.wanted:g} |")
    print("|---|---:|---:|---:|")
    for voice in given.voice or planner.voices.names:
        pace, speed = planner.pace(segments, words, voice), pace_of(voice)
        wanted = speed * pace.speed_for(given.wanted)
        print(f"| {voice} | {speed:.2f} | {pace.words_a_minute:.1f} | {wanted:.2f} |", flush=True)


def _segments(text: str) -> Sequence[PlanSegment]:
    script = respelt(plain_script(text), NORMALIZERS["english"])
    lengths = LengthRules(max_chars=MAX_TEXT_CHARS, mode=SegmentationMode.SENTENCE)
    return segment_script(script, lengths, Pauses()).segments


if __name__ == "__main__":
    main()
