"""The models that can be asked for."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from rhapsode.contract.base import Answer
from rhapsode.contract.jobs.input import SegmentationMode


class Model(Answer):
    """A model that a worker serves or served; `seen_at` is when one last said so.

    `voice_modes`: how it speaks with voices that were uploaded ("x_vector", "in_context"); empty: not at all.
    `recognised_languages`: what its workers can read back, for the quality gate `asr`.
    `speaker_dim`: numbers of a speaker embedding.
    `max_text_chars`: the longest text that it was made for; no segment is longer, whatever `segmentation` says.
    `text_front_end`: `words` where `normalization` is `basic` in every language unless a job says `off`.
    `segmentation`: how its texts are cut unless a job says otherwise; `sentence` where it speaks each alone as well.
    `reproducibility`: what jobs may ask for; `strict` where a worker is there that can see to it.
    `available`: false while workers serve other models and none serves this one.
    `id` is the name and `created` is `seen_at` in Unix seconds: so OpenAI's clients list models.
    """

    id: str
    name: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["rhapsode"] = "rhapsode"
    revision: str
    task: str
    speakers: tuple[str, ...]
    languages: tuple[str, ...]
    default_language: str | None
    sample_rate_hz: int
    samples_per_frame: int
    num_codebooks: int
    max_text_tokens: int
    max_text_chars: int
    text_front_end: Literal["words", "raw"]
    segmentation: SegmentationMode
    accepts_instructions: bool
    speaker_dim: int
    reproducibility: tuple[Literal["best_effort", "strict"], ...]
    voice_modes: tuple[str, ...]
    recognised_languages: tuple[str, ...]
    notice: str
    available: bool
    seen_at: datetime


class ModelList(Answer):
    object: Literal["list"] = "list"
    data: tuple[Model, ...]
