"""Messages come out as they went in, errors with their class and words."""

from __future__ import annotations

import dataclasses
import socket
from pathlib import Path

import numpy as np
import pytest

from worker.engine.errors import (
    CheckpointError,
    EngineDied,
    EngineError,
    EngineNotInstalled,
    EngineUnavailable,
    RequestCancelled,
    RequestRejected,
    StartError,
)
from worker.engine.fake import FakeEngine
from worker.engine.interface import (
    BuiltInSpeaker,
    DesignedVoice,
    EngineStats,
    FinishReason,
    InContextPrompt,
    ReferenceAudio,
    SamplingParams,
    Speech,
    SpeechChunk,
    SpeechRequest,
    TextMode,
    TokenSampling,
    Urgency,
    XVectorPrompt,
)
from worker.engine.process.protocol import (
    CallFailed,
    CallSpoken,
    CancelCall,
    EncodeVoice,
    ExtendCall,
    FromHost,
    Heartbeat,
    HostReady,
    HostStartFailed,
    SpokenPart,
    StartHost,
    Submit,
    ToHost,
    VoiceEncoded,
)
from worker.engine.settings import FakeEngineSettings, NativeEngineSettings, VllmEngineSettings
from worker.process.children.channel import Channel

PCM = np.linspace(-1, 1, 7, dtype=np.float32)
CODES = np.arange(48, dtype=np.int16).reshape(3, 16)
PROMPT = InContextPrompt(PCM, CODES, "What \udcff it says.", (1, 151_935))
REQUEST = SpeechRequest(
    "r\ud800",
    "Good morning.",
    PROMPT,
    language="english",
    text_mode=TextMode.PER_FRAME,
    sampling=SamplingParams(TokenSampling(0.5, 3, 0.25), TokenSampling(), 1.25),
    seed=(1 << 64) - 1,
    max_frames=9,
    urgency=Urgency.INTERACTIVE,
    is_opening=True,
)
MESSAGES: list[ToHost | FromHost] = [
    StartHost(NativeEngineSettings(Path("/a folder/ü"), 3, 2, "cuda:1", 2)),
    StartHost(VllmEngineSettings(Path("/a folder/ü"), 3)),
    StartHost(FakeEngineSettings(slots=5, step_s=0.25)),
    Submit(1, REQUEST, is_streamed=True),
    Submit(2, dataclasses.replace(REQUEST, conditioning=BuiltInSpeaker("ada", "softly"))),
    Submit(3, dataclasses.replace(REQUEST, conditioning=DesignedVoice("old"), max_frames=None)),
    Submit(4, dataclasses.replace(REQUEST, prefix=CODES, text_is_open=True, urgency=Urgency.LIVE)),
    ExtendCall("r", " and more", is_last=True),
    CancelCall("r"),
    EncodeVoice(5, ReferenceAudio(PCM, 24_000, None)),
    Heartbeat(EngineStats(1, 2, 3, 4, 5, 6, 7, 8)),
    SpokenPart(6, SpeechChunk(PCM, CODES)),
    CallSpoken(7, Speech(PCM, CODES, 24_000, FinishReason.LENGTH, 0.125)),
    VoiceEncoded(8, PROMPT),
    VoiceEncoded(9, XVectorPrompt(PCM)),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_comes_out_as_it_went_in(message: ToHost | FromHost) -> None:
    assert _same(_through_a_channel(message), message)


def test_what_an_engine_says_of_itself_comes_out_as_it_went_in() -> None:
    engine = FakeEngine(FakeEngineSettings())
    ready = HostReady(engine.info)
    engine.close()

    assert _through_a_channel(ready) == ready


@pytest.mark.parametrize(
    "kind", [EngineError, RequestRejected, RequestCancelled, EngineDied, EngineUnavailable, CheckpointError]
)
def test_errors_keep_class_and_words(kind: type[EngineError]) -> None:
    failed = _through_a_channel(CallFailed(3, kind("What happened.")))

    assert isinstance(failed, CallFailed)
    assert type(failed.error) is kind
    assert str(failed.error) == "What happened."


@pytest.mark.parametrize("kind", [StartError, CheckpointError, EngineNotInstalled])
def test_what_keeps_an_engine_from_starting_keeps_class_and_words(kind: type[StartError]) -> None:
    failed = _through_a_channel(HostStartFailed(kind("What is missing.")))

    assert isinstance(failed, HostStartFailed)
    assert type(failed.error) is kind
    assert str(failed.error) == "What is missing."


def _through_a_channel(message: ToHost | FromHost) -> object:
    ours, its = (Channel(end) for end in socket.socketpair())
    ours.send(message)
    ours.close()
    received = its.receive()
    its.close()
    return received


def _same(left: object, right: object) -> bool:
    """Equality that goes through dataclasses down to arrays, with dtype and shape."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()
    if dataclasses.is_dataclass(left) and type(left) is type(right):
        return all(_same(getattr(left, f.name), getattr(right, f.name)) for f in dataclasses.fields(left))
    return type(left) is type(right) and left == right
