"""Speech that has come from an engine, and what a post-processor is asked with it."""

from __future__ import annotations

import wave

import numpy as np

from rhapsode.contract.jobs.quality import Gate
from storage.segments.file import SegmentHeader
from storage.segments.timeline import MARGIN_S
from worker.engine.fake import SAMPLE_RATE_HZ, fake_speech
from worker.engine.interface import FinishReason, Speech
from worker.settings import SMALL_VOICE
from worker.speech.audio.speech_edges import finish_edges
from worker.speech.quality.calibration.calibration_file import UNCALIBRATED
from worker.speech.quality.verdict import JudgedUtterance

TEXT = "Rain falls softly on the quiet garden where nobody walks anymore."
BOUNDS = UNCALIBRATED.bounds("english", "ada")
REST = (Gate.BASIC, BOUNDS, None)
"""What `judge` wants beside the utterance."""

HEADER = SegmentHeader(
    job="j", index=0, fence=1, text_sha256="", seed=1, finish_reason="eos", model="fake", revision="1",
    sample_rate_hz=SAMPLE_RATE_HZ,
)  # fmt: skip


def speech(text: str = TEXT) -> Speech:
    return Speech(*fake_speech(text, 1), SAMPLE_RATE_HZ, FinishReason.EOS, 0.0)


MOON = "The moon came up behind the dark pine trees."


def moon_twice(pause_s: float = 0.1) -> Speech:
    """A sentence of the small voice, and the same behind it."""
    with wave.open(str(SMALL_VOICE / "samples/moon-slt.wav")) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    once = finish_edges((samples / 32_768).astype(np.float32), SAMPLE_RATE_HZ)
    silence = np.zeros(round((pause_s - 2 * MARGIN_S) * SAMPLE_RATE_HZ), np.float32)
    pcm = np.concatenate([once, silence, once])
    return Speech(pcm, np.zeros((1, 16), np.int16), SAMPLE_RATE_HZ, FinishReason.EOS, 0.0)


def utterance(text: str = TEXT) -> JudgedUtterance:
    return JudgedUtterance(speech(text), text, "ada", "english")


def key(name: str) -> str:
    return f"tenants/t/jobs/j/segments/{name}.safetensors"
