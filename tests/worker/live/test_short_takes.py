"""A word that should last half a second ends there, spoken by the small voice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from storage.live.messages import StreamDone
from tests.worker.live.caller import HeardStream, an_order, calling
from worker.engine.build import build_engine
from worker.engine.interface import Engine
from worker.engine.settings import NativeEngineSettings
from worker.live.edges import audible_windows
from worker.live.parts import LiveParts
from worker.live.server import LiveServer
from worker.speech.quality.calibration.calibration_file import SpeechBounds, read_calibration
from worker.speech.quality.findings import Defect

CHECKPOINT = Path(__file__).parents[3] / "worker" / "small_voice"
CALIBRATION = read_calibration(CHECKPOINT / "speech_calibration.json")
WORDS = ("Yes.", "No.", "Hello.", "The sun.")
RATE = 24_000
WINDOW = RATE // 100


@pytest.fixture(scope="module")
def small_voice() -> Iterator[Engine]:
    engine = build_engine(NativeEngineSettings(CHECKPOINT, slots=1))
    yield engine
    engine.close()


@pytest.fixture
def server(small_voice: Engine, parts: LiveParts, serve_live: Callable[..., LiveServer]) -> LiveServer:
    return serve_live(own=replace(parts, engine=small_voice, bounds=bounds_of))


def bounds_of(voice: str, language: str) -> SpeechBounds:
    return CALIBRATION.bounds(language, voice)


def hear(server: LiveServer, mode: str, word: str, voice: str, **changed: object) -> HeardStream:
    is_open = mode == "pieces"
    text, text_mode = "" if is_open else word, "whole" if mode == "whole" else "per_frame"
    with calling(server.address()) as caller:
        caller.open("s", an_order(text, voice=voice, text_mode=text_mode, text_is_open=is_open, **changed))
        if is_open:
            for letter in word:
                caller.extend("s", letter)
            caller.extend("s", "", is_last=True)
        return caller.hear("s")


def speech_s(stream: HeardStream) -> float:
    """From the first to the last audible window."""
    samples = np.frombuffer(stream.all_samples, "<i2")[: len(stream.all_samples) // 2 // WINDOW * WINDOW]
    audible = np.flatnonzero(audible_windows(samples.astype(np.float32) / np.float32(32768), WINDOW))
    return float(audible[-1] - audible[0] + 1) * WINDOW / RATE


def longest_s(word: str, voice: str) -> float:
    model = bounds_of(voice, "english").duration
    assert model is not None
    return model.longest_s(word) + 2 * WINDOW / RATE


@pytest.mark.parametrize("voice", ["slt", "rms"])
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("mode", ["whole", "per_frame", "pieces"])
def test_a_word_ends_where_its_text_does(server: LiveServer, mode: str, word: str, voice: str) -> None:
    stream = hear(server, mode, word, voice)

    assert isinstance(stream.end, StreamDone)
    assert 0 < speech_s(stream) <= longest_s(word, voice)


def test_babble_behind_a_word_is_cut_and_named(server: LiveServer) -> None:
    """A strict order has one take: of "No." this voice makes one that is too long."""
    stream = hear(server, "per_frame", "No.", "slt", reproducibility="strict")

    assert isinstance(stream.end, StreamDone)
    assert Defect.TOO_LONG.value in stream.end.findings
    assert 0 < speech_s(stream) <= longest_s("No.", "slt")


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("mode", ["whole", "per_frame"])
def test_a_word_that_does_not_pass_is_said_again(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch, mode: str, word: str
) -> None:
    monkeypatch.setattr("worker.live.short_takes.PATIENCE_S", 60)

    stream = hear(server, mode, word, "slt")

    assert isinstance(stream.end, StreamDone)
    assert stream.end.findings == ()
    assert speech_s(stream) < 0.75


def test_what_follows_a_word_that_was_cut_is_spoken(server: LiveServer) -> None:
    stream = hear(server, "whole", "No. It is raining.", "slt", reproducibility="strict")

    assert isinstance(stream.end, StreamDone)
    assert list(stream.texts.values()) == ["No.", "It is raining."]
    assert stream.spoken == [0, 1]
    assert len(stream.samples[1]) > RATE
