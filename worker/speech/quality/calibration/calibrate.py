"""Measure what is usual for a checkpoint's speech and write it beside the weights.

    python -m worker.speech.quality.calibration.calibrate --checkpoint DIR --language english

The text has one sentence a line, a hundred or more, of every length and kind; `--text` names another than the one that
comes along. Every built-in voice, or a clone of every `--reference`, speaks each sentence `--rounds` times with other
seeds. A checkpoint that draws nothing speaks it once. Each is spoken alone and packed with its neighbours as in jobs,
with numbers as the checkpoint learned to read them. Languages of earlier runs are kept while the weights are the same.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import soundfile

from reading.segmenting.lengths import LengthRules
from reading.segmenting.segmentation import spoken_segments
from worker.engine.build import build_engine
from worker.engine.cores import usable_cores
from worker.engine.errors import EngineError
from worker.engine.interface import (
    BuiltInSpeaker,
    Conditioning,
    Engine,
    EngineInfo,
    FinishReason,
    ReferenceAudio,
    Speech,
    SpeechRequest,
    TextFrontEnd,
)
from worker.engine.kokoro.files import is_kokoro
from worker.engine.settings import EngineSettings, KokoroEngineSettings, NativeEngineSettings
from worker.speech.quality.calibration.calibration_file import (
    FILE_NAME,
    Calibration,
    CalibrationOutdated,
    CalibrationUnreadable,
    calibrated_bounds,
    measured_example,
    read_calibration,
    write_calibration,
)
from worker.speech.quality.expectation import TooFewExamples

logger = logging.getLogger(__name__)

TEXTS = Path(__file__).parent / "texts"
"""One file a language, named as the models name it."""

_SHUFFLE_SEED = 1
"""Neighbours in the file are often of one length."""


@dataclass(frozen=True, slots=True)
class Example:
    text: str
    speaker: str
    speech: Speech


class CheckpointUnmeasurable(Exception):
    """What was asked for cannot be measured; the message is one sentence for who asked."""


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    arguments = _parser().parse_args()
    try:
        _calibrate(arguments)
    except (CheckpointUnmeasurable, CalibrationUnreadable, TooFewExamples, EngineError, OSError) as error:
        sys.exit(f"calibrate: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--language", required=True)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--reference", type=Path, action="append", default=[])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=2)
    return parser


def _calibrate(arguments: argparse.Namespace) -> None:
    language = str(arguments.language).casefold()
    lines = _lines(arguments.text or _text(language))
    engine = build_engine(_settings(arguments))
    try:
        spoken = _language(engine.info, language)
        speakers = _speakers(engine, arguments.reference)
        texts = _texts(lines, language, engine.info) * _rounds(arguments.rounds, engine.info)
        logger.info("%d utterances by %s", len(texts) * len(speakers), ", ".join(speakers))
        examples = speak(engine, texts, spoken, speakers)
    finally:
        engine.close()
    path = arguments.checkpoint / FILE_NAME
    calibration = with_language(path, engine.info.revision, spoken, examples)
    write_calibration(calibration, path)
    voices = ", ".join(calibration.languages[spoken].voices) or "none by itself"
    logger.info("%s: %d utterances; voices that were measured: %s", path, calibration.examples[spoken], voices)


def _settings(arguments: argparse.Namespace) -> EngineSettings:
    if is_kokoro(arguments.checkpoint):
        return KokoroEngineSettings(arguments.checkpoint, usable_cores())
    return NativeEngineSettings(arguments.checkpoint, slots=arguments.slots, device=arguments.device)


def _text(language: str) -> Path:
    known = {path.stem: path for path in TEXTS.glob("*.txt")}
    if language not in known:
        raise CheckpointUnmeasurable(
            f"no text comes along for {language}, only for {', '.join(sorted(known))}; --text names yours"
        )
    return known[language]


def _lines(text: Path) -> list[str]:
    if not text.is_file():
        raise CheckpointUnmeasurable(f"there is no text {text}")
    return [line for line in text.read_text(encoding="utf-8").splitlines() if line.strip()]


def _language(info: EngineInfo, wanted: str) -> str:
    found = next((language for language in info.languages if language.casefold() == wanted), None)
    if found is None:
        raise CheckpointUnmeasurable(f"the checkpoint speaks {', '.join(info.languages)}, not {wanted}")
    return found


def _speakers(engine: Engine, references: Sequence[Path]) -> dict[str, Conditioning]:
    """By name: the checkpoint's own, or clones of recordings for one that has none."""
    if not references:
        if not engine.info.speakers:
            raise CheckpointUnmeasurable(
                "the checkpoint has no built-in voices; --reference names a recording to clone"
            )
        return {name: BuiltInSpeaker(name) for name in engine.info.speakers}
    return {path.stem: engine.encode_voice(_recording(path)).result() for path in references}


def _recording(path: Path) -> ReferenceAudio:
    try:
        pcm, rate_hz = soundfile.read(path, dtype="float32", always_2d=True)
    except soundfile.SoundFileError as error:
        raise CheckpointUnmeasurable(f"{path} is no recording: {error}") from error
    return ReferenceAudio(pcm.mean(axis=1), int(rate_hz))


def speak(
    engine: Engine, texts: Sequence[str], language: str, speakers: Mapping[str, Conditioning] | None = None
) -> list[Example]:
    """Every text by every speaker, or by all built-in ones, with the checkpoint's own sampling."""
    voices = speakers or {name: BuiltInSpeaker(name) for name in engine.info.speakers}
    futures = [
        (
            text,
            speaker,
            engine.submit(
                SpeechRequest(
                    request_id=f"calibration/{number}/{speaker}",
                    text=text,
                    conditioning=conditioning,
                    language=language,
                    sampling=engine.info.default_sampling,
                    seed=number,
                )
            ),
        )
        for number, text in enumerate(texts)
        for speaker, conditioning in voices.items()
    ]
    examples = list[Example]()
    for text, speaker, future in futures:
        examples.append(Example(text, speaker, future.result()))
        if len(examples) % 32 == 0:
            logger.info("%d of %d utterances spoken", len(examples), len(futures))
    return examples


def _texts(lines: Sequence[str], language: str, info: EngineInfo) -> tuple[str, ...]:
    """Each line by itself, and all of them as segments of the length that jobs have."""
    shuffled = random.Random(_SHUFFLE_SEED).sample(lines, len(lines))
    lengths = LengthRules(max_chars=min(LengthRules().max_chars, info.max_text_chars))
    alone = [planned for line in lines for planned in as_spoken(line, lengths, language, info.text_front_end)]
    return (*alone, *as_spoken(" ".join(shuffled), lengths, language, info.text_front_end))


def as_spoken(text: str, lengths: LengthRules, language: str, front_end: TextFrontEnd) -> list[str]:
    """As a job that leaves `normalization` open hands it to a model that learned to read so."""
    return spoken_segments(text, lengths, language if front_end is TextFrontEnd.WORDS else "")


def _rounds(wanted: int, info: EngineInfo) -> int:
    """What always takes the likeliest code says the same thing again."""
    sampling = info.default_sampling
    return wanted if sampling.talker.temperature or sampling.predictor.temperature else 1


def with_language(path: Path, revision: str, language: str, examples: Sequence[Example]) -> Calibration:
    """What is in the file for these weights, and the language measured now."""
    finished = [one for one in examples if one.speech.finish_reason is FinishReason.EOS]
    bounds = calibrated_bounds([measured_example(one.text, one.speaker, one.speech) for one in finished])
    before = _before(path, revision)
    return Calibration(revision, {**before.examples, language: len(finished)}, {**before.languages, language: bounds})


def _before(path: Path, revision: str) -> Calibration:
    """What the file says of these weights; of others, or with figures that are no more in use, it says nothing."""
    none = Calibration(revision, {}, {})
    try:
        before = read_calibration(path) if path.exists() else none
    except CalibrationOutdated as error:
        logger.info("%s: languages that were measured before are left out", error)
        return none
    return before if before.revision == revision else none


if __name__ == "__main__":
    main()
