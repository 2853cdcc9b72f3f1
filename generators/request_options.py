"""What a caller of the client may say, as typed dictionaries: made from the contract's bodies of requests.

A field that the contract has is one here, with its type and what is said of it. `CLASSES` says only which bodies a
caller writes, and under which name.
"""

from __future__ import annotations

import textwrap
import types
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import EnumType
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AwareDatetime, BaseModel
from pydantic.fields import FieldInfo

from generators.files import Files
from rhapsode.contract.jobs.control import JobChange, RetryRequest
from rhapsode.contract.jobs.input import DocumentInput, JobInput, Pauses, SegmentInput
from rhapsode.contract.jobs.options import Sampling
from rhapsode.contract.jobs.output import Destination, Loudness, Output, OutputFormat, Tags
from rhapsode.contract.jobs.quality import Quality
from rhapsode.contract.jobs.request import JobRequest, SegmentationRequest
from rhapsode.contract.jobs.webhook import JobWebhookRequest
from rhapsode.contract.openai import SpeechOrder
from rhapsode.contract.operators.quotas import QuotaOrder
from rhapsode.contract.pronunciations import Rule
from rhapsode.contract.segments import SegmentChange

MADE = Path("rhapsode/client/request_options.py")

Nulls = Literal["left out", "taken back", "welcome"]


@dataclass(frozen=True)
class Class:
    """A body of a request as a caller writes it.

    about: in place of what the body says of itself. without: fields that the client fills in. nulls: "left out": a
    caller leaves out what is not wanted; "taken back": None is sent and means something; "welcome": None is taken for
    every field and means that it is left out.
    """

    name: str
    body: type[BaseModel]
    about: str = ""
    without: tuple[str, ...] = ()
    nulls: Nulls = "left out"


CLASSES = (
    Class("SegmentEntryFields", SegmentInput),
    Class("DocumentFields", DocumentInput),
    Class("JobInputFields", JobInput),
    Class("SegmentationFields", SegmentationRequest),
    Class("PausesFields", Pauses),
    Class("SamplingFields", Sampling),
    Class("QualityFields", Quality),
    Class("FormatFields", OutputFormat),
    Class("LoudnessFields", Loudness),
    Class("TagsFields", Tags),
    Class("DestinationFields", Destination),
    Class("OutputFields", Output),
    Class("JobWebhookFields", JobWebhookRequest),
    Class(
        "JobOptions",
        JobRequest,
        "Everything of a job but its input; what is left out, or None, is the server's default. Times need a zone.",
        without=("input", "validate_only"),
        nulls="welcome",
    ),
    Class("RetryOptions", RetryRequest),
    Class("JobChanges", JobChange, nulls="taken back"),
    Class("SegmentChanges", SegmentChange),
    Class(
        "StreamOptions",
        SpeechOrder,
        "How a text is spoken while somebody listens; what is left out, or None, is the server's choice.",
        without=("input", "speaker", "response_format", "stream", "stream_format", "reuse"),
        nulls="welcome",
    ),
    Class("QuotaLimits", QuotaOrder, nulls="taken back"),
    Class("RuleFields", Rule),
)

NAMED = {
    ("DocumentFields", "format"): "DocumentFormat",
    ("FormatFields", "type"): "AudioType",
    ("QualityFields", "on_exhausted"): "OnExhausted",
}
"""Choices that callers speak of by a name."""

TAKEN = {
    ("JobOptions", "speaker_embedding"): "bytes | Sequence[float]",
    ("StreamOptions", "voice"): "str",
    ("StreamOptions", "speaker_embedding"): "bytes | Sequence[float]",
}
"""What the client takes in place of what goes over HTTP: it writes bytes as base64."""

_EMBEDDING = (
    "in place of `voice`: its numbers, or their bytes, as little-endian float32 or as `voices.embedding` returned them"
)

TOLD = {
    ("JobOptions", "speaker_embedding"): _EMBEDDING,
    ("StreamOptions", "speaker_embedding"): _EMBEDDING,
}

NAMES = {made.body: made.name for made in CLASSES}

_HEAD = """\
# Made from rhapsode/contract/ by `make generated`; change that, not this file. Each install makes it.
\"\"\"What a caller can say in requests, under the names of the API.\"\"\"

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Required, TypedDict
"""

_INDENT = "    "
_WIDTH = 116


def request_options() -> Files:
    choices = (f"{alias} = {_type(_field(*place).annotation)}\n" for place, alias in NAMED.items())
    return {MADE: "\n".join((_HEAD, *choices, *map(class_text, CLASSES)))}


def class_text(made: Class) -> str:
    return "\n".join((*_lines(made), ""))


def _lines(made: Class) -> Iterator[str]:
    yield f"class {made.name}(TypedDict, total=False):"
    fields = {name: field for name, field in made.body.model_fields.items() if name not in made.without}
    yield from _docstring(made, fields)
    for name, field in fields.items():
        yield f"{_INDENT}{name}: {_said(made, name, field)}"


def _docstring(made: Class, fields: dict[str, FieldInfo]) -> Iterator[str]:
    """What the body says of itself, and what is said of each field."""
    about = made.about or made.body.__doc__ or ""
    blocks = [_wrapped(" ".join(paragraph.split())) for paragraph in about.strip().split("\n\n") if paragraph]
    told = {name: TOLD.get((made.name, name)) or description(field) for name, field in fields.items()}
    blocks += [[line for name, text in told.items() if text for line in _wrapped(f"{name}: {text}", _INDENT)]]
    lines = [f"{_INDENT}{line}".rstrip() for block in blocks if block for line in ("", *block)][1:]
    if lines:
        end = '"""' if len(lines) == 1 else f'\n{_INDENT}"""'
        yield "\n".join(lines).replace(_INDENT, f'{_INDENT}"""', 1) + end + "\n"


def _wrapped(text: str, hang: str = "") -> list[str]:
    return textwrap.wrap(text.replace("\\", "\\\\"), _WIDTH - 3, subsequent_indent=hang, break_on_hyphens=False)


def _said(made: Class, name: str, field: FieldInfo) -> str:
    place = (made.name, name)
    kind = NAMED.get(place) or TAKEN.get(place) or _type(without_null(field.annotation))
    if field.is_required():
        return f"Required[{kind}]"
    is_nullable = field.annotation is not without_null(field.annotation)
    return f"{kind} | None" if made.nulls == "welcome" or (made.nulls == "taken back" and is_nullable) else kind


def _field(class_name: str, name: str) -> FieldInfo:
    return next(made.body for made in CLASSES if made.name == class_name).model_fields[name]


def description(field: FieldInfo) -> str:
    """What is said of a field, or of its type where it stands inside `... | None`."""
    texts = [field.description, *(each.description for each in _infos(field.annotation))]
    return next((" ".join(text.split()) for text in texts if text), "")


def _infos(annotation: Any) -> Iterator[FieldInfo]:  # noqa: ANN401 - whatever a field may be annotated with
    for each in get_args(annotation):
        if isinstance(each, FieldInfo):
            yield each
        elif get_origin(each) is Annotated:
            yield from _infos(each)


def without_null(annotation: Any) -> Any:  # noqa: ANN401
    """The annotation itself, if null is no choice."""
    if get_origin(annotation) not in (Union, types.UnionType) or types.NoneType not in get_args(annotation):
        return annotation
    return Union[tuple(each for each in get_args(annotation) if each is not types.NoneType)]  # noqa: UP007 - of a tuple


def words_of(annotation: Any) -> Any:  # noqa: ANN401
    """An enumeration as the `Literal` of its words; None for any other type."""
    match annotation:
        case EnumType():
            return Literal[tuple(str(each) for each in annotation)]
        case _:
            return None


def _type(annotation: Any) -> str:  # noqa: ANN401
    """As a program writes it. Raises `ValueError` for a body that no caller has a name for."""
    origin, inner = get_origin(annotation), get_args(annotation)
    match origin:
        case _ if origin is Annotated:
            return _type(inner[0])
        case _ if origin in (Union, types.UnionType):
            return " | ".join(_type(each) for each in inner)
        case _ if origin is Literal and isinstance(inner[0], str):
            choices = ", ".join(f'"{choice}"' for choice in inner)
            return f"Literal[{choices}]"
        case _ if origin is Literal:
            # A caller's variable is of the type alone; which of them are taken, the server says.
            return type(inner[0]).__name__
        case _ if origin in (list, tuple):
            return f"Sequence[{_type(inner[0])}]"
        case _ if origin is dict:
            return f"Mapping[{_type(inner[0])}, {_type(inner[1])}]"
        case _ if annotation in (AwareDatetime, datetime):
            return "datetime"
        case _ if words := words_of(annotation):
            return _type(words)
        case _ if annotation in NAMES:
            return NAMES[annotation]
        case _ if annotation in (str, int, float, bool):
            return annotation.__name__
        case _:
            raise ValueError(f"{annotation}: `CLASSES` of {Path(__file__).name} has no name for it")
