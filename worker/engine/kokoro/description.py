"""What an engine with these voices says of itself."""

from __future__ import annotations

import hashlib
from pathlib import Path

from worker.engine.interface import EngineInfo, ModelTask, SamplingParams, SegmentStyle, TextFrontEnd, TokenSampling
from worker.engine.kokoro.files import MODEL_SHA256, VOICES_SHA256, read_voices
from worker.engine.kokoro.model import MOST_PHONES, SAMPLE_RATE_HZ, SAMPLES_PER_FRAME
from worker.engine.kokoro.voices import KokoroVoices

MAX_TEXT_CHARS = 280
"""About 20 s of speech in one call."""

_RELEASE = "6"
"""Another number where the same files say a text otherwise: other phones, another pace, other edges."""


def describe_kokoro(checkpoint: Path, slots: int = 0, live_slots: int = 0) -> EngineInfo:
    """Raises CheckpointError."""
    digest = hashlib.sha256(f"{MODEL_SHA256} {VOICES_SHA256} {_RELEASE}".encode())
    greedy = TokenSampling(temperature=0.0)
    return EngineInfo(
        model=checkpoint.resolve().name,
        revision=digest.hexdigest()[:16],
        task=ModelTask.CUSTOM_VOICE,
        speakers=KokoroVoices(read_voices(checkpoint)).names,
        languages=("english",),
        sample_rate_hz=SAMPLE_RATE_HZ,
        samples_per_frame=SAMPLES_PER_FRAME,
        num_codebooks=0,
        codebook_size=0,
        speaker_dim=0,
        slots=slots,
        live_slots=live_slots,
        takes_open_text=False,
        max_text_tokens=MOST_PHONES,
        max_text_chars=MAX_TEXT_CHARS,
        text_front_end=TextFrontEnd.WORDS,
        segmentation=SegmentStyle.SENTENCE,
        accepts_instructions=False,
        voice_modes=(),
        default_sampling=SamplingParams(greedy, greedy),
        has_speed=True,
        blends_speakers=True,
    )
