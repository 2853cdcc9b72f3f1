"""What a server can do, as it says itself: for programs that offer their users a choice."""

from __future__ import annotations

from rhapsode.client.calls import Call, resource
from rhapsode.client.resources import Resource


class InputCapabilities(Resource):
    types: tuple[str, ...]
    document_formats: tuple[str, ...] = ()


class SsmlElement(Resource):
    """attributes: those that are understood; others are refused. note: what it does, or why it is refused."""

    name: str
    supported: bool
    attributes: tuple[str, ...] = ()
    note: str = ""


class Breaks(Resource):
    max_s: float
    strengths_s: dict[str, float]


class Ssml(Resource):
    elements: tuple[SsmlElement, ...]
    breaks: Breaks
    say_as: tuple[str, ...] = ()


class OutputFormatFacts(Resource):
    """default_bitrate_kbps: None where there is none to choose."""

    type: str
    content_type: str
    sample_rates_hz: tuple[int, ...]
    default_bitrate_kbps: int | None = None
    has_chapters: bool = False
    has_tags: bool = False


class NormalizationFacts(Resource):
    """languages: those that there are rules for."""

    name: str
    languages: tuple[str, ...] = ()


class Limits(Resource):
    """audio_s: expected audio of one job. text_chars: of its text. document_bytes: of an uploaded document."""

    audio_s: float
    text_chars: int
    body_bytes: int
    document_bytes: int
    upload_bytes: int
    segments: int
    speakers: int
    pronunciation_dictionaries: int
    pause_s: float


class Capabilities(Resource):
    """languages: of the models that are served now. language_tags: BCP 47 tags that stand for a language."""

    input: InputCapabilities
    ssml: Ssml
    output_formats: tuple[OutputFormatFacts, ...]
    normalization: tuple[NormalizationFacts, ...]
    languages: tuple[str, ...]
    language_tags: dict[str, str]
    limits: Limits


def get_capabilities() -> Call[Capabilities]:
    return Call("GET", "/v1/capabilities", resource(Capabilities))
