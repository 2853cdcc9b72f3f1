"""Speech that is heard while it is made, on a real device, with the small voice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from worker.engine.errors import RequestCancelled
from worker.engine.interface import BuiltInSpeaker, Pcm, SpeechRequest, Urgency
from worker.engine.native import NativeEngine
from worker.engine.profiles import Reproducibility, ServingProfile
from worker.engine.serving.streaming import SpeechStream
from worker.engine.settings import NativeEngineSettings

SMALL_VOICE = Path(__file__).parents[2] / "worker" / "small_voice"
TEXT = "The rain in the north had stopped before the evening train arrived."
WAIT_S = 120
# The codec's format is float16, and rounding depends on the shape of a pass.
LEAST_DB = 30


@pytest.fixture(scope="module")
def engine() -> Iterator[NativeEngine]:
    """Strict, so that a request has the same codes alone and in company."""
    settings = NativeEngineSettings(
        SMALL_VOICE,
        slots=32,
        device="cuda",
        profile=ServingProfile.LATENCY,
        reproducibility=Reproducibility.STRICT,
    )
    engine = NativeEngine(settings)
    yield engine
    engine.close()


def request(engine: NativeEngine, number: int, name: str = "") -> SpeechRequest:
    speaker = BuiltInSpeaker(engine.info.speakers[number % len(engine.info.speakers)])
    return SpeechRequest(name or str(number), TEXT, speaker, seed=number, urgency=Urgency.INTERACTIVE)


def snr_db(samples: Pcm, truth: Pcm) -> float:
    return float(10 * np.log10(np.square(truth, dtype=np.float64).sum() / np.square(samples - truth).sum()))


def test_a_stream_is_its_speech_and_has_no_seam(engine: NativeEngine) -> None:
    whole = engine.submit(request(engine, 1)).result(WAIT_S)

    stream = SpeechStream(engine, request(engine, 1, "streamed"))
    chunks = list(stream)

    speech = stream.speech.result(WAIT_S)
    assert len(chunks[0]) == engine.info.samples_per_frame
    assert len(chunks) > 5
    np.testing.assert_array_equal(np.concatenate(chunks), speech.pcm)
    np.testing.assert_array_equal(speech.frames, whole.frames)
    assert snr_db(speech.pcm, whole.pcm) > LEAST_DB


def test_forty_streams_beside_whole_utterances_are_each_their_own(engine: NativeEngine) -> None:
    expected = [engine.submit(request(engine, n)).result(WAIT_S) for n in range(8)]
    streams = [SpeechStream(engine, request(engine, n % 8, f"stream {n}")) for n in range(40)]
    futures = [engine.submit(request(engine, n % 8, f"whole {n}")) for n in range(40)]

    for n, stream in enumerate(streams):
        joined = np.concatenate(list(stream))
        np.testing.assert_array_equal(stream.speech.result(WAIT_S).frames, expected[n % 8].frames)
        assert snr_db(joined, expected[n % 8].pcm) > LEAST_DB
    for n, future in enumerate(futures):
        np.testing.assert_array_equal(future.result(WAIT_S).frames, expected[n % 8].frames)
    assert engine.stats().codec_fallbacks == 0


def test_streams_that_are_given_up_leave_room_for_others(engine: NativeEngine) -> None:
    for number in range(300):
        stream = SpeechStream(engine, request(engine, number, f"given up {number}"))
        if number % 3 == 0:
            next(iter(stream))
        engine.cancel(f"given up {number}")
        with pytest.raises(RequestCancelled):
            stream.speech.result(WAIT_S)

    assert len(list(SpeechStream(engine, request(engine, 1, "last")))) > 5
