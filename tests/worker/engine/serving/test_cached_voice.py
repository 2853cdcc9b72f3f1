"""A voice from its cache says, code by code, what the recording itself would have said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
import redis

from rhapsode.contract.voices.modes import CacheMode
from storage.audio.recordings import decode_recording
from storage.narration.voice_reference import VoiceReference
from storage.objects.local_store import LocalArtifactStore
from tests.worker.voices.reference_audio.sounds import file_of, tone
from tests.worker.voices.voice_studio import REF_TEXT, VoiceStudio
from worker.engine.interface import (
    ReferenceAudio,
    SamplingParams,
    Speech,
    SpeechRequest,
    TextMode,
    TokenSampling,
    VoicePrompt,
)
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings

WAIT_S = 60
GREEDY = SamplingParams(TokenSampling(temperature=0.0), TokenSampling(temperature=0.0))
RATE_HZ = 44_100


@pytest.fixture
def engine(checkpoints: Mapping[str, Path]) -> Iterator[NativeEngine]:
    engine = NativeEngine(NativeEngineSettings(checkpoints["base"], slots=2, num_threads=1))
    yield engine
    engine.close()


@pytest.fixture
def voices(redis_client: redis.Redis, local_store: LocalArtifactStore, engine: NativeEngine) -> VoiceStudio:
    return VoiceStudio(redis_client, local_store, engine)


def speak(engine: NativeEngine, voice: VoicePrompt, mode: TextMode) -> Speech:
    request = SpeechRequest("one", "It was a dark night.", voice, text_mode=mode, sampling=GREEDY, max_frames=12)
    return engine.submit(request).result(WAIT_S)


def from_recording(engine: NativeEngine, recording: bytes, reference: VoiceReference) -> VoicePrompt:
    """The raw path: what the engine makes of the samples, held only in memory."""
    decoded = decode_recording(recording)
    text = REF_TEXT if reference.mode is CacheMode.IN_CONTEXT else None
    pcm = np.frombuffer(decoded.pcm, np.float32)
    return engine.encode_voice(ReferenceAudio(pcm, decoded.facts.sample_rate_hz, text)).result(WAIT_S)


@pytest.mark.parametrize("mode", CacheMode)
@pytest.mark.parametrize("text_mode", TextMode)
def test_a_cached_voice_speaks_bit_for_bit_as_the_recording_does(
    mode: CacheMode, text_mode: TextMode, voices: VoiceStudio, engine: NativeEngine
) -> None:
    recording = file_of(np.stack([tone(1.3, RATE_HZ), tone(1.3, RATE_HZ, level=0.1)], axis=1), RATE_HZ)
    ada = voices.upload(recording, mode)
    voices.request_cache(ada)
    voices.another_worker().resolve(ada, voices.hold())

    cached = voices.another_worker().resolve(ada, voices.hold())
    heard = speak(engine, cached, text_mode)

    expected = speak(engine, from_recording(engine, recording, ada), text_mode)
    np.testing.assert_array_equal(heard.frames, expected.frames)
    np.testing.assert_array_equal(heard.pcm, expected.pcm)
