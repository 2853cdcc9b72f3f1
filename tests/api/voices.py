"""What tests of voices share: recordings, a model that clones, and the upload."""

from __future__ import annotations

import io
import wave

import numpy as np

from storage.models import ModelCard
from tests.api.harness import ServedApi

DIMENSION = 8

BASE = ModelCard(
    name="base",
    revision="b1",
    task="base",
    speakers=(),
    languages=("English", "German"),
    default_language=None,
    sample_rate_hz=24_000,
    samples_per_frame=1920,
    num_codebooks=16,
    max_text_tokens=1024,
    speaker_dim=DIMENSION,
    voice_modes=("x_vector", "in_context"),
)

CONSENT = "I am the speaker and agree."
EMBEDDING = np.linspace(-1, 1, DIMENSION, dtype="<f4")


def recording(duration_s: float = 1.5, pitch_hz: float = 220.0, rate_hz: int = 8_000) -> bytes:
    """A WAV file of a hummed note."""
    times = np.arange(round(duration_s * rate_hz)) / rate_hz
    samples = np.round(8_000 * np.sin(2 * np.pi * pitch_hz * times)).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as wav:
        wav.setnchannels(1)
        wav.setsampwidth(2)
        wav.setframerate(rate_hz)
        wav.writeframes(samples.tobytes())
    return file.getvalue()


def upload(api: ServedApi, name: str = "Ada", audio: bytes | None = None, **fields: str) -> dict:
    """A voice from a recording."""
    form = {"name": name, "consent": CONSENT, "ref_text": "Hello there.", **fields}
    files = {"audio_sample": ("sample.wav", audio or recording(), "audio/wav")}
    answer = api.http.post("/v1/voices", data=form, files=files)
    assert answer.status_code == 201, answer.text
    return answer.json()


def upload_embedding(api: ServedApi, name: str = "Eve", values: np.ndarray = EMBEDDING) -> dict:
    files = {"speaker_embedding": ("eve.f32", values.astype("<f4").tobytes(), "application/octet-stream")}
    answer = api.http.post("/v1/voices", data={"name": name, "consent": CONSENT, "model": "base"}, files=files)
    assert answer.status_code == 201, answer.text
    return answer.json()
