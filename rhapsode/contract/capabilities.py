"""What the system can do, as an answer."""

from __future__ import annotations

from rhapsode.contract.base import Answer


class InputCapabilities(Answer):
    """`types`: the kinds of `input`. `document_formats`: of `input.document`."""

    types: tuple[str, ...]
    document_formats: tuple[str, ...]


class SsmlElementCapability(Answer):
    """`attributes`: those that are understood; others are refused. `note`: what it does, or why it is refused."""

    name: str
    supported: bool
    attributes: tuple[str, ...]
    note: str


class BreakCapability(Answer):
    max_s: float
    strengths_s: dict[str, float]


class SsmlCapability(Answer):
    elements: tuple[SsmlElementCapability, ...]
    breaks: BreakCapability
    say_as: tuple[str, ...]


class FormatCapability(Answer):
    """`sample_rates_hz`: what it can hold. `default_bitrate_kbps`: null where there is none to choose."""

    type: str
    content_type: str
    sample_rates_hz: tuple[int, ...]
    default_bitrate_kbps: int | None
    has_chapters: bool
    has_tags: bool


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
    normalization: tuple[NormalizationCapability, ...]
    languages: tuple[str, ...]
    language_tags: dict[str, str]
    limits: LimitCapabilities
