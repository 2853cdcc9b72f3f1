"""Measure what is usual for a checkpoint's speech and write it beside the weights.

    python -m worker.quality.calibrate --checkpoint DIR --language english --text training/calibration_sentences.txt

The text has one sentence a line, a hundred or more, of every length and kind. Each is spoken by every built-in voice,
`--rounds` times with other seeds, alone and packed with its neighbours as jobs pack them. Languages of earlier runs are
kept while the weights are the same.
"""

from __future__ import annotations

import argparse
import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from storage.jobs import Pauses, Segmentation
from worker.engine.build import build_engine
from worker.engine.interface import BuiltInSpeaker, Engine, FinishReason, Speech, SpeechRequest
from worker.engine.settings import NativeEngineSettings
from worker.quality.calibration import (
    FILE_NAME,
    Calibration,
    calibrated_bounds,
    read_calibration,
    write_calibration,
)
from worker.quality.measures import measure
from worker.segmentation import plan_segments

logger = logging.getLogger(__name__)

_SHUFFLE_SEED = 1
"""Neighbours in the file are often of one length."""


@dataclass(frozen=True, slots=True)
class Example:
    text: str
    speaker: str
    speech: Speech


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--language", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    lines = [line for line in arguments.text.read_text(encoding="utf-8").splitlines() if line.strip()]
    engine = build_engine(NativeEngineSettings(arguments.checkpoint, slots=arguments.slots, device=arguments.device))
    try:
        if arguments.language not in engine.info.languages:
            parser.error(f"the checkpoint speaks {', '.join(engine.info.languages)}, not {arguments.language}")
        if not engine.info.speakers:
            parser.error("only a checkpoint with built-in voices can be calibrated")
        examples = speak(engine, (*lines, *_packed(lines)) * arguments.rounds, arguments.language)
    finally:
        engine.close()
    path = arguments.checkpoint / FILE_NAME
    calibration = with_language(path, engine.info.revision, arguments.language, examples)
    write_calibration(calibration, path)
    logger.info("%s: %s", path, calibration.languages[arguments.language])


def speak(engine: Engine, texts: Sequence[str], language: str) -> list[Example]:
    """Every text by every built-in voice, with the checkpoint's own sampling."""
    futures = [
        (
            text,
            speaker,
            engine.submit(
                SpeechRequest(
                    request_id=f"calibration/{number}/{speaker}",
                    text=text,
                    conditioning=BuiltInSpeaker(speaker),
                    language=language,
                    sampling=engine.info.default_sampling,
                    seed=number,
                )
            ),
        )
        for number, text in enumerate(texts)
        for speaker in engine.info.speakers
    ]
    return [Example(text, speaker, future.result()) for text, speaker, future in futures]


def _packed(lines: Sequence[str]) -> list[str]:
    """All lines as segments of the length that jobs have."""
    shuffled = random.Random(_SHUFFLE_SEED).sample(lines, len(lines))
    return [" ".join(one.text.split()) for one in plan_segments(" ".join(shuffled), Segmentation(), Pauses())]


def with_language(path: Path, revision: str, language: str, examples: Sequence[Example]) -> Calibration:
    """What is in the file for these weights, and the language measured now."""
    finished = [one for one in examples if one.speech.finish_reason is FinishReason.EOS]
    measures = [measure(one.speech) for one in finished]
    bounds = calibrated_bounds([one.text for one in finished], measures, [one.speaker for one in finished])
    before = read_calibration(path) if path.exists() else Calibration(revision, {}, {})
    if before.revision != revision:
        before = Calibration(revision, {}, {})
    return Calibration(revision, {**before.examples, language: len(finished)}, {**before.languages, language: bounds})


if __name__ == "__main__":
    main()
