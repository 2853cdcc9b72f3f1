"""Every message comes out as it went in."""

from __future__ import annotations

import dataclasses
import socket
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from worker.engine.errors import (
    CheckpointError,
    EngineDied,
    EngineError,
    EngineNotInstalled,
    RequestCancelled,
    RequestRejected,
    StartError,
)
from worker.engine.interface import (
    BuiltInSpeaker,
    DesignedVoice,
    EngineInfo,
    EngineStats,
    FinishReason,
    FramesRequest,
    InContextPrompt,
    ModelTask,
    ReferenceAudio,
    SamplingParams,
    Speech,
    SpeechRequest,
    TextFrontEnd,
    TextMode,
    TokenSampling,
    Urgency,
    VoiceMode,
    XVectorPrompt,
)
from worker.engine.process.fields import ProtocolError
from worker.engine.process.framing import Frame, read_frame, write_frame
from worker.engine.process.protocol import (
    Cancel,
    EncodeVoice,
    Failed,
    FromHost,
    Heartbeat,
    Hello,
    Ready,
    Spoken,
    SpokenPart,
    StartFailed,
    Submit,
    ToHost,
    VoiceEncoded,
    decode_from_host,
    decode_settings,
    decode_to_host,
    encode_from_host,
    encode_settings,
    encode_to_host,
)
from worker.engine.profiles import Reproducibility, ServingProfile
from worker.engine.settings import (
    EngineRole,
    EngineSettings,
    FakeEngineSettings,
    NativeEngineSettings,
    Precision,
    VllmEngineSettings,
    VllmRunner,
)

# Lone surrogates too: JSON escapes carry them, and a client's text may hold anything.
TEXTS = st.text(st.characters(codec=None), max_size=60)
INTEGERS = st.integers(-(1 << 63), (1 << 64) - 1)
FLOATS = st.floats(allow_nan=False)
PCM = arrays(np.float32, st.integers(0, 40), elements=st.floats(-1, 1, width=32))
CODES = arrays(np.int16, st.tuples(st.integers(0, 5), st.integers(1, 16)))
IDS = st.lists(st.integers(0, 151_935), max_size=20).map(tuple)
TOKEN_SAMPLING = st.builds(TokenSampling, FLOATS, INTEGERS, FLOATS)
SAMPLING = st.builds(SamplingParams, TOKEN_SAMPLING, TOKEN_SAMPLING, FLOATS)
PROMPTS = st.one_of(st.builds(XVectorPrompt, PCM), st.builds(InContextPrompt, PCM, CODES, TEXTS, IDS))
CONDITIONING = st.one_of(st.builds(BuiltInSpeaker, TEXTS, TEXTS), st.builds(DesignedVoice, TEXTS), PROMPTS)
REQUESTS = st.builds(
    SpeechRequest,
    request_id=TEXTS,
    text=TEXTS,
    conditioning=CONDITIONING,
    language=TEXTS,
    text_mode=st.sampled_from(TextMode),
    sampling=SAMPLING,
    seed=INTEGERS,
    max_frames=st.none() | INTEGERS,
    urgency=st.sampled_from(Urgency),
    is_opening=st.booleans(),
)
SPEECH = st.builds(Speech, PCM, CODES, INTEGERS, st.sampled_from(FinishReason), FLOATS)
INFO = st.builds(
    EngineInfo,
    model=TEXTS,
    revision=TEXTS,
    task=st.sampled_from(ModelTask),
    speakers=st.lists(TEXTS).map(tuple),
    languages=st.lists(TEXTS).map(tuple),
    sample_rate_hz=INTEGERS,
    samples_per_frame=INTEGERS,
    num_codebooks=INTEGERS,
    codebook_size=INTEGERS,
    speaker_dim=INTEGERS,
    slots=INTEGERS,
    max_text_tokens=INTEGERS,
    max_text_chars=INTEGERS,
    text_front_end=st.sampled_from(TextFrontEnd),
    accepts_instructions=st.booleans(),
    voice_modes=st.lists(st.sampled_from(VoiceMode)).map(tuple),
    default_sampling=SAMPLING,
    notice=TEXTS,
)
TO_HOST: st.SearchStrategy[ToHost] = st.one_of(
    st.builds(Submit, INTEGERS, REQUESTS, st.booleans()),
    st.builds(
        Submit,
        INTEGERS,
        st.builds(FramesRequest, TEXTS, CODES, st.none() | CODES, st.sampled_from(Urgency)),
        st.booleans(),
    ),
    st.builds(Cancel, TEXTS),
    st.builds(EncodeVoice, INTEGERS, st.builds(ReferenceAudio, PCM, INTEGERS, st.none() | TEXTS)),
)
FROM_HOST: st.SearchStrategy[FromHost] = st.one_of(
    st.builds(Hello, INTEGERS),
    st.builds(Ready, INFO),
    st.builds(Heartbeat, st.builds(EngineStats, *[INTEGERS] * 7)),
    st.builds(SpokenPart, INTEGERS, PCM),
    st.builds(Spoken, INTEGERS, SPEECH),
    st.builds(VoiceEncoded, INTEGERS, PROMPTS),
)


@given(TO_HOST)
def test_messages_to_the_host_round_trip(message: ToHost) -> None:
    assert _same(decode_to_host(_through_a_socket(encode_to_host(message))), message)


@given(FROM_HOST)
def test_messages_from_the_host_round_trip(message: FromHost) -> None:
    assert _same(decode_from_host(_through_a_socket(encode_from_host(message))), message)


@pytest.mark.parametrize("error", [EngineError, RequestRejected, RequestCancelled, EngineDied, CheckpointError])
def test_errors_keep_class_and_words(error: type[EngineError]) -> None:
    decoded = decode_from_host(_through_a_socket(encode_from_host(Failed(3, error("What happened.")))))

    assert isinstance(decoded, Failed)
    assert type(decoded.error) is error
    assert str(decoded.error) == "What happened."


@pytest.mark.parametrize("error", [StartError, CheckpointError, EngineNotInstalled])
def test_what_keeps_an_engine_from_starting_keeps_class_and_words(error: type[StartError]) -> None:
    decoded = decode_from_host(_through_a_socket(encode_from_host(StartFailed(error("What is missing.")))))

    assert isinstance(decoded, StartFailed)
    assert type(decoded.error) is error
    assert str(decoded.error) == "What is missing."


@pytest.mark.parametrize(
    "settings",
    [
        NativeEngineSettings(
            Path("/a folder/ü"),
            3,
            "cuda:1",
            2,
            ServingProfile.LATENCY,
            Reproducibility.STRICT,
            EngineRole.TALKER,
            Precision.FLOAT8,
            Precision.FLOAT8,
        ),
        VllmEngineSettings(Path("/a folder/ü"), 3, "cuda:1", 2, ServingProfile.LATENCY, 17, VllmRunner.V2),
        FakeEngineSettings(slots=5, step_s=0.25),
    ],
    ids=["native", "vllm", "fake"],
)
def test_settings_round_trip(settings: EngineSettings) -> None:
    assert decode_settings(encode_settings(settings)) == settings


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": "spoke"},
        {"type": "cancel"},
        {"type": "cancel", "request_id": 3},
        {"type": "submit", "call": True},
        {"type": "encode_voice", "call": 1, "sample_rate_hz": 24_000, "ref_text": None},
    ],
)
def test_what_is_not_a_message_is_refused(body: dict[str, object]) -> None:
    with pytest.raises(ProtocolError):
        decode_to_host(Frame(body))


@pytest.mark.parametrize(("field", "value"), [("text_mode", "shouted"), ("urgency", "now"), ("is_streamed", 1)])
def test_a_field_that_is_none_of_its_kind_is_refused(field: str, value: object) -> None:
    frame = encode_to_host(Submit(1, SpeechRequest("r", "Hello.", BuiltInSpeaker("ada"))))

    with pytest.raises(ProtocolError, match=field):
        decode_to_host(Frame({**frame.body, field: value}, frame.arrays))


def test_arrays_of_the_wrong_kind_are_refused() -> None:
    frame = encode_from_host(
        Spoken(1, Speech(np.zeros(4, np.float32), np.zeros((1, 2), np.int16), 1, FinishReason.EOS, 0))
    )

    with pytest.raises(ProtocolError):
        decode_from_host(Frame(frame.body, frame.arrays[::-1]))


def _through_a_socket(frame: Frame) -> Frame:
    left, right = socket.socketpair()
    with left, right:
        write_frame(left, frame)
        received = read_frame(right)
    assert received is not None
    return received


def _same(left: object, right: object) -> bool:
    """Equality that goes through dataclasses down to arrays, with dtype and shape."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()
    if dataclasses.is_dataclass(left) and type(left) is type(right):
        return all(_same(getattr(left, f.name), getattr(right, f.name)) for f in dataclasses.fields(left))
    return type(left) is type(right) and left == right
