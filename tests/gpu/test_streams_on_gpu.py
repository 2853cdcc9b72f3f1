"""Speech that is heard while it is made, on a real device, with the small voice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.worker.engine.speech_stream import SpeechStream
from worker.engine.errors import RequestCancelled
from worker.engine.interface import BuiltInSpeaker, Pcm, SpeechChunk, SpeechRequest, TextMode, Urgency
from worker.engine.native import NativeEngine
from worker.engine.profiles import EngineReproducibility, ServingProfile
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
        reproducibility=EngineReproducibility.STRICT,
    )
    engine = NativeEngine(settings)
    yield engine
    engine.close()


def request(engine: NativeEngine, number: int, name: str = "") -> SpeechRequest:
    speaker = BuiltInSpeaker(engine.info.speakers[number % len(engine.info.speakers)])
    return SpeechRequest(name or str(number), TEXT, speaker, seed=number, urgency=Urgency.INTERACTIVE)


def snr_db(samples: Pcm, truth: Pcm) -> float:
    """Infinite for equal samples."""
    with np.errstate(divide="ignore"):
        return float(10 * np.log10(np.square(truth, dtype=np.float64).sum() / np.square(samples - truth).sum()))


def test_a_stream_is_its_speech_and_has_no_seam(engine: NativeEngine) -> None:
    whole = engine.submit(request(engine, 1)).result(WAIT_S)

    stream = SpeechStream(engine, request(engine, 1, "streamed"))
    chunks = list(stream)

    speech = stream.speech.result(WAIT_S)
    # The second frame may be ready when the codec comes to the first.
    assert len(chunks[0]) in {engine.info.samples_per_frame, 2 * engine.info.samples_per_frame}
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


def live_request(engine: NativeEngine, name: str, number: int = 1) -> SpeechRequest:
    return replace(request(engine, number, name), urgency=Urgency.LIVE, text_mode=TextMode.PER_FRAME)


def test_a_stream_goes_on_behind_the_codes_of_another(engine: NativeEngine) -> None:
    heard: list[SpeechChunk] = []
    whole = engine.submit(live_request(engine, "whole"), heard.append).result(WAIT_S)
    prefix = np.concatenate([chunk.frames for chunk in heard[:4]])
    start = len(prefix) * engine.info.samples_per_frame

    resumed = engine.submit(replace(live_request(engine, "resumed"), prefix=prefix)).result(WAIT_S)

    # A pass over many frames rounds otherwise than single ones: what follows need not be equal for ever.
    one = engine.info.samples_per_frame
    np.testing.assert_array_equal(resumed.frames[0], whole.frames[len(prefix)])
    assert snr_db(resumed.pcm[:one], whole.pcm[start : start + one]) > LEAST_DB
    assert abs(len(resumed.frames) + len(prefix) - len(whole.frames)) <= len(whole.frames) // 4


def test_a_text_in_pieces_is_spoken_as_the_whole_of_it(engine: NativeEngine) -> None:
    whole = engine.submit(live_request(engine, "whole")).result(WAIT_S)
    heard: list[SpeechChunk] = []

    future = engine.submit(replace(live_request(engine, "pieces"), text=TEXT[:5], text_is_open=True), heard.append)
    for start in range(5, len(TEXT), 3):
        engine.extend("pieces", TEXT[start : start + 3], is_last=start + 3 >= len(TEXT))

    np.testing.assert_array_equal(future.result(WAIT_S).frames, whole.frames)
    np.testing.assert_array_equal(np.concatenate([chunk.frames for chunk in heard]), whole.frames)


def test_live_speech_begins_while_every_other_slot_is_taken(engine: NativeEngine) -> None:
    long = replace(request(engine, 1), text=f"{TEXT} {TEXT} {TEXT}", urgency=Urgency.BULK)
    bulk = [engine.submit(replace(long, request_id=f"bulk {n}", seed=n)) for n in range(3 * engine.info.slots)]

    chunks = iter(SpeechStream(engine, live_request(engine, "live")))
    next(chunks)

    assert sum(not one.done() for one in bulk) > engine.info.slots
    list(chunks)
    for one in bulk:
        one.result(WAIT_S)
