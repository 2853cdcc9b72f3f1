"""The model of this worker as other processes see it."""

from __future__ import annotations

from rhapsode.contract.voices.modes import CacheMode
from storage.queue.model_registry import ModelCard
from worker.engine.interface import EngineInfo

CARD_INTERVAL_S = 30.0
"""Between publications, so that a new Redis knows the model too."""


def model_card(name: str, info: EngineInfo, recognised_languages: tuple[str, ...]) -> ModelCard:
    """`name` is what jobs ask for, `recognised_languages` what this worker reads back; the checkpoint says the rest."""
    return ModelCard(
        name=name,
        revision=info.revision,
        task=info.task.value,
        speakers=info.speakers,
        languages=info.languages,
        default_language=None,
        sample_rate_hz=info.sample_rate_hz,
        samples_per_frame=info.samples_per_frame,
        num_codebooks=info.num_codebooks,
        max_text_tokens=info.max_text_tokens,
        max_text_chars=info.max_text_chars,
        text_front_end=info.text_front_end.value,
        segmentation=info.segmentation.value,
        accepts_instructions=info.accepts_instructions,
        has_sampling=not info.has_speed,
        notice=info.notice,
        speaker_dim=info.speaker_dim,
        voice_modes=tuple(CacheMode(mode.value) for mode in info.voice_modes),
        recognised_languages=recognised_languages,
        blends_speakers=info.blends_speakers,
        takes_whole_jobs=True,
        is_strict=info.is_strict,
    )
