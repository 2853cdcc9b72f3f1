"""How well a checkpoint on the CPU speaks: words, pace, voice, quality, what the gate catches, speed.

    python benchmarks/speech/voice_quality.py [--checkpoint worker/small_voice] [--sentences 200] [--out FILE.json]
    python benchmarks/speech/voice_quality.py --checkpoint worker/kokoro --voice af_heart --text FILE --sentences 1000

Speaks the unseen sentences of `tests/listening`, or those of a text, the most likely entry everywhere. Pace: words a
minute, without the pauses between sentences. The small voice is compared with its teachers as well. Word errors:
Moonshine tiny. Similarity: cosine of the mean embedding with that of each teacher (Resemblyzer), 0.75 and above is
the same voice. Quality: distillMOS, 1 to 5, the teacher's in brackets. Caught: share of utterances in which the basic
gate finds a defect. Two judges are optional packages; without them their columns are empty and a line says how to
install them. Speed by streams: `rhapsode bench --device cpu`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.rig import SMALL_VOICE, parser
from reading.segmenting.lengths import LengthRules
from rhapsode.bench.statistics import mean
from rhapsode.contract.jobs.input import SegmentationMode
from tests.listening.teachers import SENTENCES, Teacher, read_teachers
from worker.engine.build import build_engine
from worker.engine.cores import usable_cores
from worker.engine.interface import BuiltInSpeaker, EngineInfo, FinishReason
from worker.engine.kokoro.files import is_kokoro
from worker.engine.settings import EngineSettings, KokoroEngineSettings, NativeEngineSettings
from worker.speech.audio.speech_edges import finish_edges
from worker.speech.judging.judges import QualityJudge, SimilarityEncoder
from worker.speech.quality.calibration.calibrate import Example, as_spoken, speak
from worker.speech.quality.calibration.calibration_file import FILE_NAME, SpeechBounds, read_calibration
from worker.speech.quality.checks import basic_findings
from worker.speech.quality.recognisers.moonshine import MoonshineTiny
from worker.speech.quality.words.word_errors import NO_WORDS, word_errors

SLOTS = 16
Judge = TypeVar("Judge")


@dataclass(frozen=True, slots=True)
class Judges:
    """None: not installed here."""

    recogniser: MoonshineTiny
    encoder: SimilarityEncoder | None
    quality: QualityJudge | None


@dataclass(frozen=True, slots=True)
class Row:
    """similarity: to each teacher. heard: what the recogniser reads in each sentence."""

    speaker: str
    sentences: int
    words: int
    errors: int
    words_a_minute: float
    teacher_word_error_rate: float | None
    exact: int
    longest_run: int
    unfinished: int
    findings: tuple[str, ...]
    quality: float | None
    teacher_quality: float | None
    similarity: Mapping[str, float]
    heard: tuple[str, ...]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--checkpoint", type=Path, default=SMALL_VOICE)
    options.add_argument("--sentences", type=int, default=200, help="spread evenly over all lengths")
    options.add_argument("--voice", action="append", help="one of the checkpoint's; repeat it; default: all")
    options.add_argument("--text", type=Path, help="prose")
    options.add_argument("--language", default="english")
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    engine = build_engine(engine_settings(given.checkpoint))
    every = _sentences(given.text, engine.info, given.language)
    chosen = np.linspace(0, len(every) - 1, min(given.sentences, len(every))).round().astype(int)
    speakers, began_s = given.voice or engine.info.speakers, time.perf_counter()
    voices = {name: BuiltInSpeaker(name) for name in speakers}
    examples = speak(engine, [every[number] for number in chosen], given.language, voices)
    elapsed_s = time.perf_counter() - began_s
    engine.close()
    audio_s = sum(len(one.speech.pcm) / one.speech.sample_rate_hz for one in examples)
    bounds = read_calibration(given.checkpoint / FILE_NAME).bounds(given.language)
    judges = Judges(MoonshineTiny(), _if_installed(SimilarityEncoder), _if_installed(QualityJudge))
    rows = [
        score(name, examples[number :: len(speakers)], bounds.of_speaker(name), judges)
        for number, name in enumerate(speakers)
    ]
    print(f"revision {engine.info.revision}, {rows[0].sentences} sentences a voice\n")
    print_rows(rows)
    print(f"one pass, {SLOTS} at a time: {audio_s / elapsed_s:.2f} x real time")
    if given.out:
        report = {"revision": engine.info.revision, "voices": [asdict(row) for row in rows]}
        given.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def engine_settings(checkpoint: Path) -> EngineSettings:
    if is_kokoro(checkpoint):
        return KokoroEngineSettings(checkpoint, usable_cores())
    return NativeEngineSettings(checkpoint, slots=SLOTS)


def _sentences(text: Path | None, info: EngineInfo, language: str) -> list[str]:
    if text is None:
        return SENTENCES.read_text(encoding="utf-8").splitlines()
    lengths = LengthRules(max_chars=info.max_text_chars, mode=SegmentationMode.SENTENCE)
    return as_spoken(text.read_text(encoding="utf-8"), lengths, language, info.text_front_end)


def _if_installed(judge: Callable[[], Judge]) -> Judge | None:
    try:
        return judge()
    except ModuleNotFoundError as missing:
        print(missing, file=sys.stderr)
        return None


def score(name: str, examples: Sequence[Example], bounds: SpeechBounds, judges: Judges) -> Row:
    teachers = read_teachers()
    teacher = teachers.get(name)
    sounds = [(finish_edges(one.speech.pcm, one.speech.sample_rate_hz), one.speech.sample_rate_hz) for one in examples]
    heard = tuple(judges.recogniser.transcribe(*sound) for sound in sounds)
    each_errors = [word_errors(one.text, read) for one, read in zip(examples, heard, strict=True)]
    errors = sum(each_errors, NO_WORDS)
    spoken_s = sum(len(pcm) / rate_hz for pcm, rate_hz in sounds)
    findings = [found for one in examples for found in basic_findings(one.speech, one.text, bounds)[:1]]
    return Row(
        speaker=name,
        sentences=len(examples),
        words=errors.words,
        errors=errors.errors,
        words_a_minute=round(60 * errors.words / spoken_s, 1),
        teacher_word_error_rate=teacher and teacher.word_error_rate,
        exact=sum(one.errors == 0 for one in each_errors),
        longest_run=errors.longest_run,
        unfinished=sum(one.speech.finish_reason is not FinishReason.EOS for one in examples),
        findings=tuple(found.defect.value for found in findings),
        quality=mean(judges.quality.score(*sound) for sound in sounds) if judges.quality else None,
        teacher_quality=teacher and teacher.quality,
        similarity=similarity([judges.encoder.embed(*sound) for sound in sounds], teachers)
        if judges.encoder and teacher
        else {},
        heard=heard,
    )


def similarity(embeddings: Sequence[np.ndarray], teachers: Mapping[str, Teacher]) -> dict[str, float]:
    own = np.mean(embeddings, axis=0)
    own /= np.linalg.norm(own)
    return {name: round(float(own @ np.array(one.embedding)), 3) for name, one in teachers.items()}


def print_rows(rows: Sequence[Row]) -> None:
    print("| voice | WER | teacher's | words a minute | without error | longest run | caught | quality | similarity |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---|")
    for row in rows:
        teacher = "" if row.teacher_word_error_rate is None else f"{row.teacher_word_error_rate:.1%}"
        quality = "" if row.quality is None else f"{row.quality:.2f}"
        quality += "" if row.teacher_quality is None else f" ({row.teacher_quality:.2f})"
        alike = ", ".join(f"{name} {value:.2f}" for name, value in row.similarity.items())
        print(
            f"| {row.speaker} | {row.errors / row.words:.1%} | {teacher} | {row.words_a_minute} | {row.exact} "
            f"| {row.longest_run} words | {len(row.findings) / row.sentences:.1%} | {quality} | {alike} |"
        )
    words, errors = sum(row.words for row in rows), sum(row.errors for row in rows)
    print(f"\nall: WER {errors / words:.1%} of {words} words, unfinished {sum(row.unfinished for row in rows)}")


if __name__ == "__main__":
    main()
