"""What Kokoro speaks, and what it refuses by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import onnxruntime
import pytest

from tests.worker.engine.contracted_engines import result, wait_until
from worker.engine.description import describe
from worker.engine.errors import RequestCancelled, RequestRejected
from worker.engine.interface import (
    BuiltInSpeaker,
    Engine,
    FinishReason,
    Pcm,
    ReferenceAudio,
    Speech,
    SpeechChunk,
    SpeechRequest,
    Urgency,
    XVectorPrompt,
)
from worker.engine.kokoro.engine import KokoroEngine
from worker.engine.kokoro.files import read_model, read_symbols, read_voices
from worker.engine.kokoro.model import KokoroModel, ModelCall
from worker.engine.kokoro.voices import KokoroVoices
from worker.engine.settings import KokoroEngineSettings
from worker.lifecycle.model_card import model_card
from worker.settings import PACKAGED

SETTINGS = KokoroEngineSettings(PACKAGED["kokoro"], slots=1, live_slots=1)
TEXT = "The wind blew hard, and he ran."


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = KokoroEngine(SETTINGS)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def spoken(engine: Engine) -> Speech:
    """The sentence as it is asked for without anything else."""
    return result(engine.submit(request()))


def request(text: str = TEXT, voice: str = "af_heart") -> SpeechRequest:
    return SpeechRequest("one", text, BuiltInSpeaker(voice))


def level(pcm: Pcm) -> float:
    return float(np.sqrt(np.square(pcm).mean()))


def test_a_sentence_is_spoken_without_silent_edges(engine: Engine, spoken: Speech) -> None:
    frame = engine.info.samples_per_frame
    assert spoken.finish_reason is FinishReason.EOS
    assert spoken.frames.shape == (len(spoken.pcm) // frame, 0)
    assert 1.4 < len(spoken.pcm) / engine.info.sample_rate_hz < 2.8
    assert level(spoken.pcm) > 0.02
    assert level(spoken.pcm[: 4 * frame]) > 0.001 < level(spoken.pcm[-4 * frame :])


def test_each_voice_sounds_otherwise_and_a_blend_like_none_of_its_two(engine: Engine) -> None:
    voices = ("af_heart", "bm_fable", "af_heart+bm_fable")
    spoken = [result(engine.submit(request("Hello there.", voice))).pcm.tobytes() for voice in voices]

    assert len(set(spoken)) == 3


def test_it_says_which_words_it_guessed(engine: Engine, spoken: Speech) -> None:
    named = result(engine.submit(request("Vashkiri met Alice.")))

    assert (named.guessed, spoken.guessed) == (("Vashkiri",), ())


def test_seed_and_sampling_change_nothing(engine: Engine) -> None:
    first, second = (result(engine.submit(replace(request("Hello."), seed=seed))).pcm for seed in (1, 2))

    np.testing.assert_array_equal(first, second)


def test_speed_changes_the_length(engine: Engine, spoken: Speech) -> None:
    slow, fast = (len(result(engine.submit(replace(request(), speed=speed))).pcm) for speed in (0.8, 1.25))

    assert slow > 1.15 * len(spoken.pcm) > 1.25 * fast


def test_a_stream_begins_before_its_sentence_is_spoken_and_says_all_of_it(engine: Engine) -> None:
    text = TEXT.replace(",", "")
    whole = result(engine.submit(request(text))).pcm
    heard: list[SpeechChunk] = []

    future = engine.submit(replace(request(text), urgency=Urgency.LIVE, is_opening=True), heard.append)
    wait_until(lambda: bool(heard))

    assert not future.done(), "the rest of the sentence is still to come"
    streamed = result(future).pcm
    np.testing.assert_array_equal(np.concatenate([chunk.pcm for chunk in heard]), streamed)
    assert len(streamed) == pytest.approx(len(whole), abs=4 * engine.info.samples_per_frame)
    assert level(streamed) == pytest.approx(level(whole), rel=0.2)


def test_a_stream_that_goes_on_elsewhere_hears_the_rest_of_the_same_sound(engine: Engine) -> None:
    opening = replace(request(), urgency=Urgency.LIVE, is_opening=True)
    whole = result(engine.submit(opening)).pcm

    rest = result(engine.submit(replace(opening, prefix=np.zeros((30, 0), np.int16)))).pcm

    np.testing.assert_array_equal(rest, whole[30 * engine.info.samples_per_frame :])


def test_the_two_parts_of_the_model_make_the_bytes_of_the_whole() -> None:
    symbols = read_symbols(SETTINGS.checkpoint)
    style = KokoroVoices(read_voices(SETTINGS.checkpoint)).pack("af_heart")[4]
    model, call = read_model(), ModelCall()
    cut = KokoroModel(model, symbols)
    whole: Any = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    tokens = np.array([[0, *(symbols[phone] for phone in "jˈɛs."), 0]], np.int64)

    (expected,) = whole.run(["audio"], {"tokens": tokens, "style": style[None], "speed": np.ones(1, np.float32)})

    plan = cut.plan("jˈɛs.", style, 1.0, 1.0, call)
    np.testing.assert_array_equal(cut.sound(plan, 0, plan.num_frames, call), np.ravel(expected))


def test_a_call_that_is_cancelled_frees_its_slot_before_it_would_end(engine: Engine) -> None:
    long = engine.submit(replace(request(TEXT * 4), request_id="long"))
    wait_until(lambda: engine.stats().active == 1)

    engine.cancel("long")

    with pytest.raises(RequestCancelled):
        result(long)
    assert result(engine.submit(request("Hello."))).pcm.size


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"text": "… —!"}, "there is nothing to speak in '… —!': it has no phones"),
        ({"text": ""}, "it has no phones"),
        ({"text": "word " * 200}, "phones; the model takes 510"),
        ({"language": "german"}, "unknown language 'german'; Kokoro speaks english"),
        ({"conditioning": BuiltInSpeaker("slt")}, "unknown voice 'slt'"),
        ({"conditioning": BuiltInSpeaker("af_heart", "sadly")}, "no instructions"),
        ({"conditioning": XVectorPrompt(np.zeros(4, np.float32))}, "cannot clone"),
        ({"speed": 3.0}, "speed should be from 0.5 to 2.0, not 3.0"),
        ({"text_is_open": True}, "whole sentences"),
        ({"prefix": np.zeros((3, 12), np.int16)}, "the prefix has shape (3, 12), not (P, 0)"),
    ],
)
def test_what_it_cannot_is_refused_by_name(engine: Engine, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(RequestRejected) as rejection:
        result(engine.submit(replace(request(), **wrong)))

    assert said in str(rejection.value)


def test_a_voice_cannot_be_cloned(engine: Engine) -> None:
    with pytest.raises(RequestRejected, match="cannot clone"):
        engine.encode_voice(ReferenceAudio(np.zeros(24_000, np.float32), 24_000)).result()


def test_its_card_says_that_it_has_no_sampling(engine: Engine) -> None:
    assert not model_card("kokoro", engine.info, ()).has_sampling


def test_its_description_is_that_of_the_engine_without_slots(engine: Engine) -> None:
    (described,) = describe([SETTINGS.checkpoint], SETTINGS)

    assert described == replace(engine.info, slots=0, live_slots=0, config_sha256="")
    assert (described.model, described.languages, described.num_codebooks) == ("kokoro", ("english",), 0)
    assert described.is_strict
