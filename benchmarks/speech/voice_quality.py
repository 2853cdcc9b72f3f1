"""How well a checkpoint with the small voice's speakers speaks: words, voice, quality, what the gate catches, speed.

    python benchmarks/speech/voice_quality.py [--checkpoint worker/small_voice] [--sentences 200] [--out FILE.json]

Speaks the unseen sentences of `tests/listening` through the native engine, the most likely entry everywhere. Word
errors: Moonshine tiny. Similarity: cosine of the mean embedding with that of each teacher (Resemblyzer), 0.75 and
above is the same voice. Quality: distillMOS, 1 to 5, the teacher's in brackets. Caught: share of utterances in which
the basic gate finds a defect. Two judges are optional packages; without them their columns are empty and a line
says how to install them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.engine.cpu_engine import Speed, measure
from benchmarks.speech.listening.scores import Voice, VoiceScores, voice_scores
from benchmarks.speech.listening.teachers import SENTENCES, Teacher, read_teachers
from worker.engine.cores import usable_cores
from worker.engine.interface import EngineInfo, FinishReason
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings
from worker.speech.audio.speech_edges import finish_edges
from worker.speech.judging.judges import JudgeMissing, QualityJudge, SpeakerEncoder
from worker.speech.quality.calibration.calibrate import Example, speak
from worker.speech.quality.calibration.calibration_file import FILE_NAME, read_calibration
from worker.speech.quality.checks import basic_findings
from worker.speech.quality.recognisers.moonshine import MoonshineTiny

ROOT = Path(__file__).resolve().parents[2]
SLOTS = (1, 4, 16)


@dataclass(frozen=True, slots=True)
class Spoken:
    """One pass over all sentences by all speakers, 16 at a time."""

    info: EngineInfo
    by_speaker: Mapping[str, Sequence[Example]]
    times_real_time: float
    peak_mib: float


@dataclass(frozen=True, slots=True)
class Row:
    """similarity: to each teacher. quality of the teacher beside the voice's own."""

    speaker: str
    sentences: int
    words: int
    word_error_rate: float
    teacher_word_error_rate: float
    exact: int
    longest_run: int
    unfinished: int
    caught: int
    findings: tuple[str, ...]
    quality: float | None
    teacher_quality: float
    similarity: Mapping[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, default=ROOT / "worker/small_voice")
    parser.add_argument("--sentences", type=int, default=200, help="spread evenly over all lengths")
    parser.add_argument("--language", default="english")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    load_before = os.getloadavg()[0]
    every = SENTENCES.read_text(encoding="utf-8").splitlines()
    chosen = np.linspace(0, len(every) - 1, min(arguments.sentences, len(every))).round().astype(int)
    spoken = speak_all(arguments.checkpoint, [every[number] for number in chosen], arguments.language)
    rows = score(spoken, arguments.checkpoint, arguments.language)
    speeds = [measure(NativeEngineSettings(arguments.checkpoint, slots=slots)) for slots in SLOTS]
    print_tables(spoken, rows, speeds)
    if arguments.out:
        report = {
            "revision": spoken.info.revision,
            "machine": f"{platform.machine()}, {usable_cores()} cores",
            "load_before": round(load_before, 2),
            "times_real_time": spoken.times_real_time,
            "peak_mib": spoken.peak_mib,
            "voices": [asdict(row) for row, _ in rows],
            "heard": {row.speaker: scores.heard for row, scores in rows},
            "speeds": [asdict(speed) for speed in speeds],
        }
        arguments.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def speak_all(checkpoint: Path, texts: Sequence[str], language: str) -> Spoken:
    engine = NativeEngine(NativeEngineSettings(checkpoint, slots=SLOTS[-1]))
    try:
        started_s = time.perf_counter()
        examples = speak(engine, texts, language)
        elapsed_s = time.perf_counter() - started_s
    finally:
        engine.close()
    seconds = sum(len(one.speech.pcm) / one.speech.sample_rate_hz for one in examples)
    speakers = engine.info.speakers
    return Spoken(
        info=engine.info,
        by_speaker={name: examples[number :: len(speakers)] for number, name in enumerate(speakers)},
        times_real_time=round(seconds / elapsed_s, 2),
        # Before any judge is loaded.
        peak_mib=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    )


def score(spoken: Spoken, checkpoint: Path, language: str) -> list[tuple[Row, VoiceScores]]:
    bounds = read_calibration(checkpoint / FILE_NAME).bounds(language)
    recogniser, encoder, judge = MoonshineTiny(), _speaker_encoder(), _quality_judge()
    teachers = read_teachers()
    rows: list[tuple[Row, VoiceScores]] = []
    for name, examples in spoken.by_speaker.items():
        rate_hz = spoken.info.sample_rate_hz
        sounds = tuple((finish_edges(one.speech.pcm, rate_hz), rate_hz) for one in examples)
        own = bounds.of_speaker(name)
        scores = voice_scores(Voice(tuple(one.text for one in examples), sounds), recogniser, encoder, judge)
        findings = [found for one in examples for found in basic_findings(one.speech, one.text, own)[:1]]
        row = Row(
            speaker=name,
            sentences=len(examples),
            words=scores.errors.words,
            word_error_rate=round(scores.errors.rate, 4),
            teacher_word_error_rate=teachers[name].word_error_rate,
            exact=scores.exact,
            longest_run=scores.errors.longest_run,
            unfinished=sum(one.speech.finish_reason is not FinishReason.EOS for one in examples),
            caught=len(findings),
            findings=tuple(found.defect.value for found in findings),
            quality=None if scores.quality is None else round(scores.quality, 2),
            teacher_quality=teachers[name].quality,
            similarity=_similarity(scores, teachers),
        )
        rows.append((row, scores))
    return rows


def print_tables(spoken: Spoken, rows: Sequence[tuple[Row, VoiceScores]], speeds: Sequence[Speed]) -> None:
    print(f"revision {spoken.info.revision}, {rows[0][0].sentences} sentences a voice\n")
    print("| voice | WER | teacher's | without error | longest run | caught by the gate | quality | similarity |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    for row, _ in rows:
        quality = "" if row.quality is None else f"{row.quality:.2f} ({row.teacher_quality:.2f})"
        similarity = ", ".join(f"{name} {value:.2f}" for name, value in row.similarity.items())
        print(
            f"| {row.speaker} | {row.word_error_rate:.1%} | {row.teacher_word_error_rate:.1%} | {row.exact} "
            f"| {row.longest_run} words | {row.caught / row.sentences:.1%} | {quality} | {similarity} |"
        )
    words = sum(row.words for row, _ in rows)
    errors = sum(scores.errors.errors for _, scores in rows)
    print(f"\nboth: WER {errors / words:.1%} of {words} words, unfinished {sum(row.unfinished for row, _ in rows)}")
    print(f"one pass, 16 at a time: {spoken.times_real_time} x real time, peak {spoken.peak_mib:.0f} MiB resident\n")
    print("| at a time | real-time factor | audio s per s |")
    print("|---:|---:|---:|")
    for speed in speeds:
        print(f"| {speed.slots} | {speed.real_time_factor} | {speed.audio_s_per_s} |")


def _speaker_encoder() -> SpeakerEncoder | None:
    try:
        return SpeakerEncoder()
    except JudgeMissing as missing:
        print(f"no similarity: {missing}", file=sys.stderr)
        return None


def _quality_judge() -> QualityJudge | None:
    try:
        return QualityJudge()
    except JudgeMissing as missing:
        print(f"no quality: {missing}", file=sys.stderr)
        return None


def _similarity(scores: VoiceScores, teachers: Mapping[str, Teacher]) -> dict[str, float]:
    if scores.embedding is None:
        return {}
    return {name: round(float(scores.embedding @ np.array(one.embedding)), 3) for name, one in teachers.items()}


if __name__ == "__main__":
    main()
