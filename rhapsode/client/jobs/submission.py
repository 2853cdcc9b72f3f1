"""What a caller can ask for, and the body it becomes."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, TypedDict

from pydantic import JsonValue

from rhapsode.client.jobs.inputs import JobInput
from rhapsode.client.jobs.output_options import Output, plain_json


class Segmentation(TypedDict, total=False):
    """How text becomes segments, in characters. min_chars: what is shorter is spoken with a neighbour; 0: never."""

    target_chars: int
    max_chars: int
    min_chars: int


class Pauses(TypedDict, total=False):
    """Silence after a segment, in seconds, by what ends there; chapter_s: the least before a chapter."""

    sentence_s: float
    paragraph_s: float
    heading_s: float
    chapter_s: float


class Sampling(TypedDict, total=False):
    """Fields that replace the checkpoint's own defaults."""

    temperature: float
    top_k: int
    top_p: float
    repetition_penalty: float


class JobWebhook(TypedDict, total=False):
    """Who is told of a job: a `url`, or an endpoint by `endpoint_id`; `events` of the job, else those of its end."""

    url: str
    endpoint_id: str
    events: Sequence[str]


class JobOptions(TypedDict, total=False):
    """Everything of a job but its input; what is left out is the server's default.

    voice: a built-in speaker of the model, or a voice of yours by name or id. language: one of the model's, or "auto".
    ref_text, x_vector_only: with a voice of yours: what its recording says, in place of what is known of it; whether
    it is spoken from its embedding alone. if_cache_missing: build the voice on the way, wait for it, or refuse the job.
    speaker_embedding: in place of a voice, its numbers, little-endian float32 or what `voices.embedding` returned;
    needs `consent`, the statement that the speaker agrees.
    speakers: a cast, name to voice. normalization: numbers and units as words. pronunciation_dictionaries: `pd_...@3`.
    quality: `gate` ("basic", "asr", "off"), `max_attempts`, `on_exhausted` ("keep_best", "keep_best_or_gap",
        "silence", "fail").
    reproducibility: "strict" where equal requests have to give equal speech, whatever else the workers speak.
    reuse: False where every segment is to be spoken, also one that an earlier job has spoken.
    not_before: with a time zone; nothing of the job is done before it.
    deadline: with a time zone; a job that is not done by then fails, one that has not started expires.
    retention_s: how long the result is kept after the job has ended.
    """

    model: str | None
    voice: str | None
    ref_text: str | None
    x_vector_only: bool | None
    if_cache_missing: Literal["compute", "wait", "fail"] | None
    speaker_embedding: bytes | Sequence[float] | None
    consent: str | None
    language: str | None
    instructions: str | None
    speakers: Mapping[str, str] | None
    normalization: Literal["off", "basic"] | None
    pronunciation_dictionaries: Sequence[str] | None
    seed: int | None
    priority: Literal["high", "normal", "low"] | None
    segmentation: Segmentation | None
    pauses: Pauses | None
    sampling: Sampling | None
    reproducibility: Literal["best_effort", "strict"] | None
    reuse: bool | None
    quality: Mapping[str, JsonValue] | None
    output: Output | None
    not_before: datetime | None
    deadline: datetime | None
    retention_s: int | None
    metadata: Mapping[str, str] | None
    webhook: JobWebhook | None


def submission_body(spoken: str | JobInput, options: JobOptions) -> dict[str, JsonValue]:
    """The JSON of `POST /v1/jobs`. Raises `ValueError` for a time without a time zone."""
    body: dict[str, JsonValue] = {"input": {"text": spoken} if isinstance(spoken, str) else plain_json(spoken)}
    for name, value in options.items():
        if isinstance(value, datetime):
            if value.tzinfo is None:
                raise ValueError(f"{name} needs a time zone")
            body[name] = value.isoformat()
        elif isinstance(value, bytes):
            body[name] = base64.b64encode(value).decode()
        elif value is not None:
            body[name] = plain_json(value)
    return body
