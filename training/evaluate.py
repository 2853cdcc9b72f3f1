"""Speak the unseen sentences through the engine and let a recogniser read them back.

    python -m training.evaluate --model MODEL --corpus corpus.tsv --out DIR --jobs 2

With --speech the teachers' own recordings are read as well, and with --quantizer what the decoder makes of their codes:
so one sees which part loses the words. Writes DIR/evaluation.json and, with --samples, some WAV files.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
import torch

from training.codec.features import FrameFeatures
from training.codec.quantizer import Quantizer
from training.device import best_device
from training.dimensions import SAMPLE_RATE_HZ, SAMPLES_PER_FRAME, SPEAKERS
from training.speech.recordings import load_streams
from training.speech.synthesis import read_lines
from training.steps import run_step, step_parser
from worker.engine.interface import BuiltInSpeaker, FinishReason, Pcm, Speech, SpeechRequest
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings
from worker.engine.stages.codec import CodecStage
from worker.speech.quality.recognisers.moonshine import MoonshineTiny
from worker.speech.quality.words.word_errors import NO_WORDS, WordErrors, word_errors

logger = logging.getLogger(__name__)

_SPLITS = ("harvard", "everyday", "test", "heldout")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One that was never trained on, for one speaker."""

    number: int
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Recording:
    """A sentence and what should be it, at the rate of the small voice."""

    sentence: Sentence
    pcm: Pcm


@dataclass(frozen=True, slots=True)
class Reading:
    """What the recogniser heard of a recording."""

    sentence: Sentence
    heard: str
    errors: WordErrors


def main(argv: Sequence[str] | None = None) -> None:
    arguments = _parser().parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    report = _of_the_teachers(arguments) | _of_the_model(arguments)
    (arguments.out / "evaluation.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    for name, value in report.items():
        summary = {k: v for k, v in value.items() if k != "readings"} if isinstance(value, dict) else value
        logger.info("%s: %s", name, summary)


def _parser() -> argparse.ArgumentParser:
    parser = step_parser(__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--speech", type=Path)
    parser.add_argument("--quantizer", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--device", default=best_device().type)
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--samples", type=int, default=0)
    parser.add_argument("--language", default="english")
    return parser


def _of_the_teachers(arguments: argparse.Namespace) -> dict[str, object]:
    """Their word errors, and those that their codes have."""
    if not arguments.speech:
        return {}
    recordings = _recordings(arguments.speech, arguments.sentences)
    report: dict[str, object] = {"teachers": _judged(recordings, arguments.jobs)}
    if arguments.quantizer:
        decoded = _resynthesised(recordings, arguments.model, arguments.quantizer, arguments.device)
        report["codec"] = _judged(decoded, arguments.jobs)
    return report


def _of_the_model(arguments: argparse.Namespace) -> dict[str, object]:
    sentences = _sentences(arguments.corpus, arguments.sentences)
    engine = NativeEngine(NativeEngineSettings(arguments.model, slots=arguments.slots, device=arguments.device))
    began_s = time.monotonic()
    spoken = _speak(engine, sentences, arguments.language)
    elapsed_s = time.monotonic() - began_s
    engine.close()
    recordings = [Recording(sentence, speech.pcm) for sentence, speech in zip(sentences, spoken, strict=True)]
    for recording in recordings[: arguments.samples]:
        name = f"{recording.sentence.number}-{recording.sentence.speaker}.wav"
        soundfile.write(arguments.out / name, recording.pcm, SAMPLE_RATE_HZ, subtype="PCM_16")
    return {
        "times_real_time": sum(len(speech.pcm) for speech in spoken) / SAMPLE_RATE_HZ / elapsed_s,
        "unfinished": sum(speech.finish_reason is not FinishReason.EOS for speech in spoken),
        "model": _judged(recordings, arguments.jobs),
    }


def _sentences(corpus: Path, count: int) -> list[Sentence]:
    """Unseen ones, each for every speaker."""
    lines = [line for line in read_lines(corpus) if line.split in _SPLITS]
    return [Sentence(line.number, SPEAKERS[line.speaker], line.text) for line in lines if line.number < count]


def _speak(engine: NativeEngine, sentences: Sequence[Sentence], language: str) -> list[Speech]:
    futures = [
        engine.submit(
            SpeechRequest(
                request_id=f"{sentence.number}-{sentence.speaker}",
                text=sentence.text,
                conditioning=BuiltInSpeaker(sentence.speaker),
                language=language,
                sampling=engine.info.default_sampling,
                seed=sentence.number,
            )
        )
        for sentence in sentences
    ]
    return [future.result() for future in futures]


def _recordings(folder: Path, count: int) -> list[Recording]:
    """What the teachers said of the unseen sentences."""
    found: list[Recording] = []
    for stream in load_streams(folder):
        for one in stream.utterances:
            if one.split in _SPLITS and one.number < count:
                samples = stream.samples(one.start, one.start + one.frames, torch.device("cpu")).numpy()
                found.append(Recording(Sentence(one.number, SPEAKERS[one.speaker], one.text), samples))
    return found


@torch.no_grad()
def _resynthesised(recordings: Sequence[Recording], model: Path, quantizer_path: Path, device: str) -> list[Recording]:
    place = torch.device(device)
    quantizer, extract = Quantizer.load(quantizer_path, place), FrameFeatures(place)
    codec = CodecStage.load(model, device)
    decoded: list[Recording] = []
    for recording in recordings:
        whole = recording.pcm[: len(recording.pcm) // SAMPLES_PER_FRAME * SAMPLES_PER_FRAME]
        codes = quantizer.encode(extract(torch.from_numpy(whole).to(place))).cpu().numpy().astype(np.int16)
        decoded.append(Recording(recording.sentence, codec.decode(codes)))
    return decoded


def _judged(recordings: Sequence[Recording], jobs: int) -> dict[str, object]:
    """Word errors by speaker, and every reading."""
    with ThreadPoolExecutor(jobs) as pool:
        heard = pool.map(_hear, [recordings[job::jobs] for job in range(jobs)])
        readings = [reading for part in heard for reading in part]
    return {
        **{name: _summary([one for one in readings if one.sentence.speaker == name]) for name in SPEAKERS},
        "all": _summary(readings),
        "readings": [
            {"number": one.sentence.number, "speaker": one.sentence.speaker, "text": one.sentence.text,
             "heard": one.heard, "errors": one.errors.errors}
            for one in readings
        ],
    }  # fmt: skip


def _hear(recordings: Sequence[Recording]) -> list[Reading]:
    """Belongs to one thread: the recogniser is not for two."""
    recogniser = MoonshineTiny()
    readings: list[Reading] = []
    for recording in recordings:
        heard = recogniser.transcribe(recording.pcm, SAMPLE_RATE_HZ)
        readings.append(Reading(recording.sentence, heard, word_errors(recording.sentence.text, heard)))
    return readings


def _summary(readings: Sequence[Reading]) -> Mapping[str, object]:
    total = sum((reading.errors for reading in readings), NO_WORDS)
    return {
        "sentences": len(readings),
        "word_error_rate": round(total.rate, 4),
        "exact": sum(reading.errors.errors == 0 for reading in readings),
    }


if __name__ == "__main__":
    run_step(main)
