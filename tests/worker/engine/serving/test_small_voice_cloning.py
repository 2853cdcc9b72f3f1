"""The checkpoint that comes with the code clones from sound: what a recording is nearer to is what it speaks as."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from numpy.typing import NDArray

import worker
from worker.engine.errors import RequestRejected
from worker.engine.interface import BuiltInSpeaker, ReferenceAudio, Speech, SpeechRequest, VoiceMode, XVectorPrompt
from worker.engine.model.weights import read_tensors
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings

SMALL_VOICE = Path(worker.__file__).parent / "small_voice"
TEXT = "Rain fell on the roof."
SPEAKER_ROWS = {"slt": 532, "rms": 533}
NEAR = 0.1
"""Of the way from one speaker to the other."""


@pytest.fixture(scope="module")
def engine() -> Iterator[NativeEngine]:
    threads = torch.get_num_threads()
    engine = NativeEngine(NativeEngineSettings(SMALL_VOICE, slots=2, num_threads=1))
    yield engine
    engine.close()
    torch.set_num_threads(threads)


def recording(speaker: str) -> ReferenceAudio:
    path = next((SMALL_VOICE / "samples").glob(f"*-{speaker}.wav"))
    pcm, rate_hz = soundfile.read(path, dtype="float32")
    return ReferenceAudio(np.asarray(pcm, np.float32), rate_hz, None)


def cloned(engine: NativeEngine, reference: ReferenceAudio) -> XVectorPrompt:
    prompt = engine.encode_voice(reference).result()
    assert isinstance(prompt, XVectorPrompt)
    return prompt


def row_of(speaker: str) -> NDArray[np.float32]:
    table = read_tensors(SMALL_VOICE / "model.safetensors")["talker.model.codec_embedding.weight"]
    return table[SPEAKER_ROWS[speaker]].float().numpy()


def speak(engine: NativeEngine, conditioning: BuiltInSpeaker | XVectorPrompt) -> Speech:
    name = type(conditioning).__name__
    return engine.submit(
        SpeechRequest(name, TEXT, conditioning, language="english", sampling=engine.info.default_sampling)
    ).result()


def test_it_clones_from_sound_alone(engine: NativeEngine) -> None:
    assert engine.info.voice_modes == (VoiceMode.X_VECTOR,)


@pytest.mark.parametrize(("speaker", "other"), [("slt", "rms"), ("rms", "slt")])
def test_a_recording_of_a_speaker_gives_that_speaker(engine: NativeEngine, speaker: str, other: str) -> None:
    embedding = cloned(engine, recording(speaker)).speaker_embedding

    way = np.linalg.norm(row_of(speaker) - row_of(other))
    assert np.linalg.norm(embedding - row_of(speaker)) < NEAR * way


def test_a_clone_speaks_as_long_as_the_speaker_it_was_made_of(engine: NativeEngine) -> None:
    own = speak(engine, BuiltInSpeaker("rms"))

    clone = speak(engine, cloned(engine, recording("rms")))

    assert len(clone.pcm) == pytest.approx(len(own.pcm), rel=0.2)


def test_a_recording_with_its_text_is_refused_for_want_of_a_codec_encoder(engine: NativeEngine) -> None:
    with_text = ReferenceAudio(recording("slt").pcm, recording("slt").sample_rate_hz, "Hello.")

    with pytest.raises(RequestRejected, match="its speech tokenizer has no encoder"):
        engine.encode_voice(with_text).result()


def test_the_embeddings_of_its_speakers_speak_as_they_do(engine: NativeEngine) -> None:
    told = dict(zip(engine.info.speakers, engine.info.speaker_embeddings, strict=True))

    assert all(np.array_equal(np.array(told[name], np.float32), row_of(name)) for name in SPEAKER_ROWS)
    by_name = speak(engine, BuiltInSpeaker("rms"))
    by_embedding = speak(engine, XVectorPrompt(np.array(told["rms"], np.float32)))
    assert np.array_equal(by_name.frames, by_embedding.frames)
