"""Speak the unseen sentences through the engine and let a recogniser read them back.

    python -m training.evaluate --model MODEL --corpus corpus.tsv --recogniser DIR --out DIR --jobs 2

DIR of the recogniser holds Moonshine tiny: encoder_model.onnx, decoder_model_merged.onnx and tokenizer.json. With
--speech the teachers' own recordings are read as well, and with --quantizer what the decoder makes of their codes:
so one sees which part loses the words. Writes DIR/evaluation.json and, with --samples, some WAV files.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import time
import wave
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.signal import resample_poly  # pyright: ignore[reportMissingImports]  # of the extra `training`

from training.codec.features import FrameFeatures
from training.codec.quantizer import Quantizer
from training.dimensions import SAMPLE_RATE_HZ, SAMPLES_PER_FRAME, SPEAKERS
from training.recognition import Recogniser, WordErrors, word_errors
from training.speech.recordings import load_streams
from training.speech.synthesis import read_lines
from worker.engine.interface import BuiltInSpeaker, Speech, SpeechRequest
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings
from worker.engine.stages.codec import CodecStage

logger = logging.getLogger(__name__)

_SPLITS = ("harvard", "everyday", "test", "heldout")


@dataclass(frozen=True, slots=True)
class Reading:
    """Something spoken, 16 kHz, and what it should say."""

    number: int
    speaker: str
    text: str
    samples: NDArray[np.float32]


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--recogniser", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--speech", type=Path)
    parser.add_argument("--quantizer", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--samples", type=int, default=0)
    parser.add_argument("--language", default="english")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    read = partial(_read, recogniser=arguments.recogniser, jobs=arguments.jobs)
    report: dict[str, object] = {}
    if arguments.speech:
        recordings = _recordings(arguments.speech, arguments.sentences)
        report["teachers"] = read([_reading(n, s, t, pcm) for n, s, t, pcm in recordings])
        if arguments.quantizer:
            report["codec"] = read(_resynthesised(recordings, arguments.model, arguments.quantizer, arguments.device))
    lines = _sentences(arguments.corpus, arguments.sentences)
    engine = NativeEngine(NativeEngineSettings(arguments.model, slots=arguments.slots, device=arguments.device))
    started_s = time.monotonic()
    spoken = _speak(engine, lines, arguments.language)
    elapsed_s = time.monotonic() - started_s
    engine.close()
    seconds = sum(len(speech.pcm) for _, _, _, speech in spoken) / SAMPLE_RATE_HZ
    report["times_real_time"] = seconds / elapsed_s
    report["unfinished"] = sum(speech.finish_reason != "eos" for *_, speech in spoken)
    report["model"] = read([_reading(n, s, t, speech.pcm) for n, s, t, speech in spoken])
    for number, speaker, _, speech in spoken[: arguments.samples]:
        _write_wave(arguments.out / f"{number}-{speaker}.wav", speech.pcm)
    (arguments.out / "evaluation.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    for name, value in report.items():
        summary = {k: v for k, v in value.items() if k != "readings"} if isinstance(value, dict) else value
        logger.info("%s: %s", name, summary)


def _sentences(corpus: Path, count: int) -> list[tuple[int, str, str]]:
    """(number, speaker, text) of unseen sentences, each for every speaker."""
    lines = [line for line in read_lines(corpus) if line.split in _SPLITS]
    return [(line.number, SPEAKERS[line.speaker], line.text) for line in lines if line.number < count]


def _speak(
    engine: NativeEngine, lines: Sequence[tuple[int, str, str]], language: str
) -> list[tuple[int, str, str, Speech]]:
    futures: list[Future[Speech]] = [
        engine.submit(
            SpeechRequest(
                request_id=f"{number}-{speaker}",
                text=text,
                conditioning=BuiltInSpeaker(speaker),
                language=language,
                sampling=engine.info.default_sampling,
                seed=number,
            )
        )
        for number, speaker, text in lines
    ]
    return [(*line, future.result()) for line, future in zip(lines, futures, strict=True)]


def _recordings(folder: Path, count: int) -> list[tuple[int, str, str, NDArray[np.float32]]]:
    """What the teachers said of the unseen sentences, 24 kHz."""
    found = []
    for stream in load_streams(folder):
        for utterance in stream.utterances:
            if utterance.split in _SPLITS and utterance.number < count:
                first, last = utterance.start, utterance.start + utterance.frames
                samples = stream.samples(first, last, torch.device("cpu")).numpy()
                found.append((utterance.number, SPEAKERS[utterance.speaker], utterance.text, samples))
    return found


@torch.no_grad()
def _resynthesised(
    recordings: Iterable[tuple[int, str, str, NDArray[np.float32]]], model: Path, path: Path, device: str
) -> list[Reading]:
    place = torch.device(device)
    quantizer, extract = Quantizer.load(path, place), FrameFeatures(place)
    codec = CodecStage.load(model, device)
    readings = []
    for number, speaker, text, samples in recordings:
        whole = samples[: len(samples) // SAMPLES_PER_FRAME * SAMPLES_PER_FRAME]
        codes = quantizer.encode(extract(torch.from_numpy(whole).to(place))).cpu().numpy().astype(np.int16)
        readings.append(_reading(number, speaker, text, codec.decode(codes)))
    return readings


def _reading(number: int, speaker: str, text: str, pcm: NDArray[np.float32]) -> Reading:
    return Reading(number, speaker, text, resample_poly(pcm, 2, 3).astype(np.float32))


def _read(readings: Sequence[Reading], recogniser: Path, jobs: int) -> dict[str, object]:
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        heard = pool.map(partial(_hear, folder=recogniser), [readings[job::jobs] for job in range(jobs)])
    results = [result for part in heard for result in part]
    summary: dict[str, object] = {}
    for name in (*SPEAKERS, "all"):
        chosen = [errors for reading, _, errors in results if name in (reading.speaker, "all")]
        words = sum(errors.words for errors in chosen)
        summary[name] = {
            "sentences": len(chosen),
            "word_error_rate": round(sum(errors.errors for errors in chosen) / max(1, words), 4),
            "exact": sum(errors.errors == 0 for errors in chosen),
        }
    summary["readings"] = [
        {"number": reading.number, "speaker": reading.speaker, "text": reading.text, "heard": text,
         "errors": errors.errors}
        for reading, text, errors in results
    ]  # fmt: skip
    return summary


def _hear(readings: Sequence[Reading], folder: Path) -> list[tuple[Reading, str, WordErrors]]:
    recogniser = Recogniser(folder)
    heard = []
    for reading in readings:
        text = recogniser.transcribe(reading.samples)
        # The samples need not travel back.
        bare = Reading(reading.number, reading.speaker, reading.text, np.zeros(0, np.float32))
        heard.append((bare, text, word_errors(reading.text, text)))
    return heard


def _write_wave(path: Path, pcm: NDArray[np.float32]) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE_HZ)
        file.writeframes((np.clip(pcm, -1, 1) * 32767).astype("<i2").tobytes())


if __name__ == "__main__":
    main()
