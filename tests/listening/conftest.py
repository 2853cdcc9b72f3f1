"""The small voice, the recogniser that reads it back, and a dozen sentences that no training saw, spoken once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

import worker
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from tests.environment import without_settings
from worker.engine.interface import BuiltInSpeaker, Speech, SpeechRequest
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings
from worker.speech.quality.recognisers.moonshine import MoonshineTiny
from worker.speech.quality.words.word_errors import NO_WORDS, WordErrors, word_errors

SMALL_VOICE = Path(worker.__file__).parent / "small_voice"
HERE = Path(__file__).parent
SPEAKERS = ("slt", "rms")
FEW = slice(8, None, 16)
"""Twelve of the two hundred, which are sorted by length: one of each length from 4 to 29 words."""


@dataclass(frozen=True, slots=True)
class Reading:
    text: str
    speech: Speech


Readings = Mapping[str, Sequence[Reading]]
"""By speaker."""


@pytest.fixture(scope="session")
def unseen_sentences() -> Sequence[str]:
    return (HERE / "unseen_sentences.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="session")
def recogniser() -> MoonshineTiny:
    return MoonshineTiny()


@pytest.fixture(scope="package")
def stack(run_dir: Path) -> Iterator[Stack]:
    """A whole system with nothing chosen."""
    with Stack(StackOptions(run_dir / "listening"), without_settings(os.environ), lambda event: None) as stack:
        stack.wait_ready()
        yield stack


@pytest.fixture(scope="session")
def engine() -> Iterator[NativeEngine]:
    threads = torch.get_num_threads()
    engine = NativeEngine(NativeEngineSettings(SMALL_VOICE, slots=16))
    yield engine
    engine.close()
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def few_readings(engine: NativeEngine, unseen_sentences: Sequence[str]) -> Readings:
    return read_aloud(engine, unseen_sentences[FEW])


def read_aloud(engine: NativeEngine, texts: Sequence[str]) -> Readings:
    """Every text by every speaker, as a job without options asks for it."""
    futures = {
        speaker: [
            engine.submit(
                SpeechRequest(
                    request_id=f"{speaker}/{number}",
                    text=text,
                    conditioning=BuiltInSpeaker(speaker),
                    language="english",
                    sampling=engine.info.default_sampling,
                    seed=number,
                )
            )
            for number, text in enumerate(texts)
        ]
        for speaker in SPEAKERS
    }
    return {
        speaker: [Reading(text, future.result()) for text, future in zip(texts, spoken, strict=True)]
        for speaker, spoken in futures.items()
    }


def errors_of(readings: Sequence[Reading], recogniser: MoonshineTiny) -> WordErrors:
    heard = [recogniser.transcribe(one.speech.pcm, one.speech.sample_rate_hz) for one in readings]
    return sum((word_errors(one.text, other) for one, other in zip(readings, heard, strict=True)), NO_WORDS)
