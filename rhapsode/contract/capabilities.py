"""What the system can do, as an answer."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from rhapsode.contract.base import Answer


class InputCapabilities(Answer):
    """`types`: the kinds of `input`. `document_formats`: of `input.document`."""

    types: tuple[str, ...]
    document_formats: tuple[str, ...]


class SsmlElementCapability(Answer):
    """`supported`, `attributes`: what `ssml_mode: strict` understands; it refuses others. `note`: what it does, or why
    it is refused.

    `lenient`: what `ssml_mode: lenient` makes of it: `read`, with `lenient_attributes`; `text`: the text in it is
    spoken, the element listed as left out, as are all that are not in the table; `skipped` with what it holds, and
    listed; `silent`: likewise, and not listed.
    """

    name: str
    supported: bool
    attributes: tuple[str, ...]
    lenient: Literal["read", "text", "skipped", "silent"]
    lenient_attributes: tuple[str, ...]
    note: str


class BreakCapability(Answer):
    max_s: float
    strengths_s: dict[str, float]


class ProsodyCapability(Answer):
    """`rates`: what each word is of the voice's own pace; `volumes_db`: of its level. Numbers have their bounds, others
    are refused, or with `lenient` brought to the nearest and listed."""

    rates: dict[str, float]
    min_rate: float
    max_rate: float
    volumes_db: dict[str, float]
    min_volume_db: float
    max_volume_db: float


class SsmlCapability(Answer):
    """`say_as`: what `strict` interprets text as; `lenient_say_as`: what `lenient` does."""

    elements: tuple[SsmlElementCapability, ...]
    breaks: BreakCapability
    prosody: ProsodyCapability
    say_as: tuple[str, ...]
    lenient_say_as: tuple[str, ...]


class FormatCapability(Answer):
    """`sample_rates_hz`: what it can hold. `default_bitrate_kbps`: null where there is none to choose."""

    type: str
    content_type: str
    sample_rates_hz: tuple[int, ...]
    default_bitrate_kbps: int | None
    has_chapters: bool
    has_tags: bool


class PresetCapability(Answer):
    """`output`: the fields of a job's output that it stands for, where the job leaves these out."""

    name: str
    output: dict[str, JsonValue]


class NormalizationCapability(Answer):
    """`languages`: those that there are rules for."""

    name: str
    languages: tuple[str, ...]


class LimitCapabilities(Answer):
    """`audio_s`: expected audio of one job. `text_chars`: of its text. `document_bytes`: of an uploaded document."""

    audio_s: float
    text_chars: int
    body_bytes: int
    document_bytes: int
    upload_bytes: int
    segments: int
    speakers: int
    pronunciation_dictionaries: int
    pause_s: float


class Capabilities(Answer):
    """`languages`: of the models that are served now. `language_tags`: BCP 47 tags that stand for a language."""

    input: InputCapabilities
    ssml: SsmlCapability
    output_formats: tuple[FormatCapability, ...]
    presets: tuple[PresetCapability, ...]
    normalization: tuple[NormalizationCapability, ...]
    languages: tuple[str, ...]
    language_tags: dict[str, str]
    limits: LimitCapabilities
