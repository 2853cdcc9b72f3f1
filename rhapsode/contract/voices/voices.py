"""The bodies of requests and answers about voices: the public contract."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.config import JsonDict

from rhapsode.contract.base import Answer, Id, Metadata, Name, RefText, RequestBody
from rhapsode.contract.jobs.input import MAX_SEED
from rhapsode.contract.speakable_text import check_label, check_prose, check_spoken_text
from rhapsode.contract.voices.names import check_voice_name

DEFAULT_PREVIEW = "This is how I sound when I read something aloud."

VoiceName = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(check_voice_name)]
Description = Annotated[str, Field(max_length=2_000), AfterValidator(check_prose)]
Statement = Annotated[str, Field(min_length=1, max_length=1_000), AfterValidator(check_prose)]
Language = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(check_label)]


def with_files(*names: str) -> Callable[[JsonDict], None]:
    """Describes the files of a form, which no field of its model can."""

    def describe(schema: JsonDict) -> None:
        files: JsonDict = {name: {"type": "string", "format": "binary"} for name in names}
        match schema["properties"]:
            case dict() as properties:
                properties.update(files)
            case _:
                schema["properties"] = files

    return describe


class VoiceForm(RequestBody):
    """The text fields of a new voice's form; its recording or embedding comes as a file beside them.

    `consent`: the statement that the speaker agrees, which is kept with its time.
    `ref_text`: what the recording says; with it the voice is cloned in context, without from its embedding alone.
    `model`: the one that an embedding is of.
    `precompute`: make the voice ready for every model that clones, at once.
    """

    model_config = ConfigDict(json_schema_extra=with_files("audio_sample", "speaker_embedding"))

    name: VoiceName
    consent: Statement | None = None
    ref_text: RefText = ""
    language: Language = "auto"
    description: Description = ""
    model: Language | None = None
    precompute: Literal["true", "false"] = "false"


class RecordingForm(RequestBody):
    """The text fields of another recording for a voice."""

    model_config = ConfigDict(json_schema_extra=with_files("audio_sample"))

    consent: Statement | None = None
    ref_text: RefText = ""


class VoiceChange(RequestBody):
    """What is absent stays as it is."""

    name: VoiceName | None = None
    description: Description | None = None
    metadata: Metadata | None = None


class PreviewOrder(RequestBody):
    """What the voice says. `model`: one that clones, unless named."""

    text: Annotated[str, Field(max_length=500), AfterValidator(check_spoken_text)] = DEFAULT_PREVIEW
    model: Name | None = None
    language: Name | None = None
    x_vector_only: bool = False
    seed: int | None = Field(default=None, ge=0, le=MAX_SEED)


class BlendPart(RequestBody):
    """`voice`: one of yours, by id or name, or one of the model's by name, if the model speaks with embeddings."""

    voice: Name
    weight: float = Field(default=1.0, gt=0, le=1_000)


class BlendOrder(RequestBody):
    """A new voice between others, which speaks from its embedding. `slerp` keeps to the arc between them."""

    name: VoiceName
    voices: list[BlendPart] = Field(min_length=2, max_length=8)
    method: Literal["slerp", "lerp"] = "slerp"
    model: Name | None = None
    description: Description = ""


class VoiceConsent(Answer):
    """`actor`: whose key it was, or the tenant where that key has no id.

    A blend has the statements of all its parts.
    """

    statement: str
    actor: str
    at: datetime


class VoiceSample(Answer):
    """What the voice was made from; `url` needs the key and leads to the object.

    `duration_s`: of what is used. `repairs`: sentences on what was done to the recording.
    """

    kind: Literal["recording", "embedding"]
    media_type: str
    duration_s: float | None
    repairs: tuple[str, ...] = ()
    bytes: int
    sha256: str
    url: str


class VoiceLinks(Answer):
    self_: str = Field(validation_alias="self", serialization_alias="self")
    sample: str
    embedding: str


class Voice(Answer):
    """A voice that was uploaded (`own`) or that models bring along (`built_in`, without an id).

    `models`: those that speak with it now. `revision`: one more with every new recording.
    """

    id: Id | None
    object: Literal["voice"] = "voice"
    kind: Literal["own", "built_in"]
    name: str
    models: tuple[str, ...]
    language: str
    description: str
    ref_text: str
    revision: int
    sample: VoiceSample | None
    consent: VoiceConsent | None
    created_at: datetime | None
    updated_at: datetime | None
    metadata: dict[str, str]
    links: VoiceLinks | None


class VoiceList(Answer):
    data: tuple[Voice, ...]
    next_cursor: str | None
    has_more: bool


class VoiceEmbedding(Answer):
    """`values`: float32, as many as the model's `speaker_dim`."""

    model_config = ConfigDict(protected_namespaces=())

    object: Literal["voice.embedding"] = "voice.embedding"
    voice: str
    model: str
    model_revision: str | None
    dimension: int
    values: tuple[float, ...]
