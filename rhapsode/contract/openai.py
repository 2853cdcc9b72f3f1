"""The request of OpenAI's speech API, for programs that were written for it or for one of its likes (vLLM-Omni)."""

from __future__ import annotations

import enum
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, SkipValidation, model_validator
from pydantic_core import PydanticCustomError

from rhapsode.contract.base import Answer, Choice, Id, Name, RefText, RequestBody
from rhapsode.contract.jobs.input import MAX_SEED, Instructions
from rhapsode.contract.jobs.options import Repeatability, Sampling
from rhapsode.contract.jobs.request import Consent, Embedding, ReferenceAudio

MAX_INPUT_CHARS = 4_096
"""As OpenAI's; a longer text is a job."""
MAX_ASYNC_CHARS = 200_000
"""With `Prefer: respond-async`. Markdown is read before the answer, which takes 1.4 s for a million characters."""

OpenAiSpeed = Annotated[float, Field(ge=0.25, le=4, description="speed factor at constant pitch; spoken from 0.5 to 2")]

SpeechFormat = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]

InputFormat = Annotated[
    Literal["auto", "markdown", "plain"], Field(description="`auto`: Markdown is read as such where it is certain")
]

DESIGNED_VOICES = ("design", "auto")
"""What stands for the voice that a model makes itself, or that comes along: OpenAI's client always sends one."""


class TaskType(enum.StrEnum):
    """As the published checkpoints of this family call what they were made for."""

    CUSTOM_VOICE = "CustomVoice"
    """One of the model's own voices."""

    VOICE_DESIGN = "VoiceDesign"
    """A voice that the model makes from `instructions`."""

    BASE = "Base"
    """A voice of a recording: `ref_audio`, `speaker_embedding`, or a voice of yours."""


class NamedVoice(RequestBody):
    """A voice as OpenAI names custom ones: by its id, or by its name."""

    id: Name


class VoiceOfCall(RequestBody):
    """Who speaks, in which words of vLLM-Omni's."""

    model: Name | None = Field(
        default=None, description="a model of the server, or a name that stands for one; absent: as the task wants it"
    )
    voice: Name | NamedVoice | None = Field(
        default=None,
        description="a voice of the model, one of yours by name or id, or a name that stands for one; absent: the "
        "model's first; may be `design` or `auto` where the model makes it or the request brings it",
    )
    speaker: Name | None = Field(default=None, description="the same as `voice`")
    task_type: Choice[TaskType] | None = Field(default=None, description="what the model has to be made for")
    ref_audio: ReferenceAudio | None = None
    ref_text: RefText | None = Field(default=None, description="what `ref_audio`, or a voice of yours, says")
    x_vector_only_mode: bool | None = Field(
        default=None, description="speak from the embedding of `ref_audio`, or of a voice of yours, alone"
    )
    speaker_embedding: Embedding | None = Field(
        default=None, description="in place of a voice: as many numbers as the model's `speaker_dim` says"
    )
    consent: Consent | None = None
    language: Name | None = Field(default=None, description="a language of the model, by name or tag; absent: `auto`")
    instructions: Instructions | None = None

    @model_validator(mode="after")
    def _one_voice(self) -> Self:
        if self.voice is not None and self.speaker is not None:
            raise PydanticCustomError("not_allowed", "`speaker` is another word for `voice`; give one")
        if self.ref_audio is not None and self.speaker_embedding is not None:
            raise PydanticCustomError("not_allowed", "`ref_audio` and `speaker_embedding` each bring a voice; give one")
        return self

    @property
    def voice_name(self) -> str | None:
        named = self.speaker if self.voice is None else self.voice
        return named.id if isinstance(named, NamedVoice) else named

    @property
    def brings_voice(self) -> bool:
        return self.ref_audio is not None or self.speaker_embedding is not None


class SpeechOrder(VoiceOfCall, Sampling, Repeatability):
    """What is said, and how it comes back. `X-Ignored` names fields that are unknown, or beyond the model.

    `response_format`: `pcm` is what a WAV holds: 16-bit little-endian samples of one channel at the model's rate.
    `stream`, `stream_format`: either has the audio sent while it is made. Without them `pcm` is too, as it is played at
    once; all else is sent whole, and checked.
    """

    model_config = ConfigDict(extra="allow")

    input: str
    input_format: InputFormat = "auto"
    response_format: SpeechFormat = "mp3"
    speed: OpenAiSpeed = 1.0
    stream: bool | None = Field(default=None, description="send audio while it is made")
    stream_format: Literal["audio", "sse"] | None = Field(
        default=None, description="send audio while it is made: its bytes, or events `speech.audio.delta` with them"
    )
    non_streaming_mode: bool | None = Field(
        default=None,
        description="of a stream: `true` has the model read each segment whole before it speaks; `false`: as it "
        "speaks. Absent: whole, as all speech, but on a socket, where text is still being written",
    )
    seed: int | None = Field(
        default=None, ge=0, le=MAX_SEED, description="the same text and seed give the same speech; absent: at random"
    )
    reuse: bool = Field(default=True, description="as of `/v1/jobs`; a stream is always spoken")

    @model_validator(mode="after")
    def _one_way_back(self) -> Self:
        if self.stream is False and self.stream_format == "sse":
            raise PydanticCustomError("not_allowed", "events are a stream, and `stream` is false")
        if self.non_streaming_mode is False and not self.is_streamed:
            raise PydanticCustomError(
                "not_supported", "`non_streaming_mode` false is of streams: whole audio is made from the whole text"
            )
        return self

    @property
    def is_streamed(self) -> bool:
        return self.stream_format is not None if self.stream is None else self.stream

    @property
    def is_played_at_once(self) -> bool:
        """Samples without a header, of a caller who does not say whether they come as a stream."""
        return self.response_format == "pcm" and self.stream is None

    @property
    def repeatability(self) -> Repeatability:
        return Repeatability.model_construct(**{name: getattr(self, name) for name in Repeatability.model_fields})

    @property
    def sampling(self) -> Sampling:
        return Sampling.model_construct(
            self.model_fields_set & Sampling.model_fields.keys(),
            **{name: getattr(self, name) for name in Sampling.model_fields},
        )


MAX_BATCH_ITEMS = 32


class BatchedSpeech(VoiceOfCall, Sampling):
    """One text of a batch; what is absent is as the batch has it."""

    model_config = ConfigDict(extra="allow")

    input: str
    input_format: InputFormat | None = None
    response_format: SpeechFormat | None = None
    speed: OpenAiSpeed | None = None
    non_streaming_mode: bool | None = None
    seed: int | None = Field(default=None, ge=0, le=MAX_SEED)


class SpeechBatch(VoiceOfCall, Sampling):
    """Several texts, each whole and checked, in one answer. Fields beside `items` are those of every item that does not
    say otherwise. Each item is read for itself."""

    model_config = ConfigDict(extra="allow")

    items: Annotated[list[SkipValidation[BatchedSpeech]], Field(min_length=1, max_length=MAX_BATCH_ITEMS)]
    input_format: InputFormat = "auto"
    response_format: SpeechFormat = "wav"
    speed: OpenAiSpeed = 1.0
    non_streaming_mode: bool | None = None
    seed: int | None = Field(default=None, ge=0, le=MAX_SEED)


class SpokenUsage(Answer):
    """What was spoken. `input_tokens`: characters, by which this server counts. `output_tokens`: milliseconds of it."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_chars: int
    audio_s: float

    @classmethod
    def of(cls, input_chars: int, audio_s: float) -> SpokenUsage:
        num_ms = round(audio_s * 1000)
        return cls(
            input_tokens=input_chars,
            output_tokens=num_ms,
            total_tokens=input_chars + num_ms,
            input_chars=input_chars,
            audio_s=round(audio_s, 3),
        )


class SpokenItem(Answer):
    """One text of a batch. `audio_data`: its audio in base64, of `media_type`. `error`: why there is none.

    `ignored`: as `X-Ignored`.
    """

    index: int
    status: Literal["success", "error"]
    audio_data: str | None = None
    media_type: str | None = None
    usage: SpokenUsage | None = None
    ignored: str | None = None
    error: str | None = None
    code: str | None = None
    job_id: Id | None = None


class SpokenBatch(Answer):
    id: str
    results: tuple[SpokenItem, ...]
    total: int
    succeeded: int
    failed: int
