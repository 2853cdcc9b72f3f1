"""Fields of requests as options of a command line: type, help, bounds and choices of each, made from the contract.

A command takes one by its name here, `top_k: SamplingTopK = None`, and needs no pydantic until it runs. A field is an
option once the contract describes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import AwareDatetime, BaseModel
from pydantic.fields import FieldInfo

from generators.files import Files
from generators.request_options import CLASSES, description, without_null, words_of
from rhapsode.contract.jobs.control import RetryRequest
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.segments import SegmentChange

MADE = Path("rhapsode/cli/job_options.py")

BODIES: dict[type[BaseModel], str] = {JobRequest: "", RetryRequest: "Retry", SegmentChange: "Segment"}
"""What commands send, with how the names of its options begin."""

FILLED_IN = {name for made in CLASSES if made.body in BODIES for name in made.without}
"""Fields that a command or the client says itself."""

NO_OPTIONS = {
    "consent",
    "if_cache_missing",
    "normalization",
    "output.chapters",
    "output.cover",
    "output.formats.files",
    "ref_audio",
    "ref_text",
    "reproducibility",
    "retention_s",
    "reuse",
    "x_vector_only",
}
"""Fields of jobs that no command has as an option."""

RETRIED = {"quality.gate", "quality.max_attempts", "quality.on_exhausted", "sampling.temperature", "seed"}
"""Fields of a new attempt that a command has as options."""

METAVARS = {
    "bitrate_kbps": "KBPS",
    "head_s": "SECONDS",
    "prefix": "FOLDERS",
    "pronunciation_dictionaries": "DICTIONARY",
    "room_tone_db": "DB",
    "sample_rate": "HZ",
    "speed": "FACTOR",
    "tail_s": "SECONDS",
    "target_lufs": "LUFS",
}
"""What a value stands as in the help, by its field, where its type says too little. A time is a TIME."""

EXAMPLE_OF_A_TIME = "2026-12-01T08:00 is local time"
LARGEST_TOLD = 1_000_000
"""Bounds beyond it are nobody's concern but the machine's."""

_HEAD = """\
# Made from rhapsode/contract/ by `make generated`; change that, not this file. Each install makes it.
\"\"\"Options of a job for commands: what each is called in the API, its type, and what its help says.\"\"\"

from __future__ import annotations

from typing import Annotated, Literal

import typer

from rhapsode.cli.job_fields import JobField
"""


@dataclass(frozen=True)
class Leaf:
    """A field that is no object. inside: the names on the way to it.

    absent: what holds where an object on the way is left out, "" if none can be. is_of_list: of an object in a list.
    """

    name: str
    inside: tuple[str, ...]
    field: FieldInfo
    absent: str
    is_of_list: bool

    @property
    def path(self) -> str:
        return ".".join((*self.inside, self.name))

    @property
    def kind(self) -> Any:  # noqa: ANN401 - whatever a field may be annotated with
        kind = without_null(self.field.annotation)
        kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
        return words_of(kind) or kind

    @property
    def is_list(self) -> bool:
        return get_origin(self.kind) in (list, tuple)

    @property
    def constraints(self) -> tuple[Any, ...]:
        """Also of the type inside `... | None`."""
        inner = without_null(self.field.annotation)
        infos = [each for each in get_args(inner)[1:] if isinstance(each, FieldInfo)]
        return (*self.field.metadata, *(rule for info in infos for rule in info.metadata))


def command_line_options() -> Files:
    aliases = (
        alias_text(leaf, family)
        for body, family in BODIES.items()
        for leaf in leaves(body)
        if is_option(leaf) and is_wanted(leaf, body)
    )
    return {MADE: "\n".join((_HEAD, *aliases))}


def leaves(body: type[BaseModel], within: Leaf | None = None) -> Iterator[Leaf]:
    """Every field that is no object, in the order of the contract. within: the field that holds the body."""
    for name, field in body.model_fields.items():
        inside = (*within.inside, within.name) if within else ()
        leaf = Leaf(name, inside, field, within.absent if within else "", is_of_list=bool(within and within.is_of_list))
        entry = get_args(leaf.kind)[0] if leaf.is_list else leaf.kind
        if isinstance(entry, type) and issubclass(entry, BaseModel):
            is_optional = without_null(field.annotation) is not field.annotation
            absent = _split(description(field))[1] if is_optional else leaf.absent
            yield from leaves(entry, replace(leaf, absent=absent, is_of_list=leaf.is_of_list or entry is not leaf.kind))
        else:
            yield leaf


def is_option(leaf: Leaf) -> bool:
    """Not what nothing is said of, and not what no option can carry: a mapping, or one of several types."""
    return bool(description(leaf.field) and _type(leaf.kind))


def is_wanted(leaf: Leaf, body: type[BaseModel]) -> bool:
    if body is RetryRequest:
        return leaf.path in RETRIED
    return leaf.path not in NO_OPTIONS and leaf.path.partition(".")[0] not in FILLED_IN


def alias_text(leaf: Leaf, family: str = "") -> str:
    metavar = "TIME" if leaf.kind is AwareDatetime else METAVARS.get(leaf.name)
    shown = [f"metavar={_quoted(metavar)}"] if metavar else []
    option = ", ".join((*shown, f"help={_quoted(help_text(leaf))}"))
    known = ", ".join((_quoted(leaf.path), *_known(leaf)))
    return (
        f"{family}{alias_name(leaf)} = Annotated[{_type(leaf.kind)} | None, typer.Option({option}), JobField({known})]"
    )


def alias_name(leaf: Leaf) -> str:
    return "".join(word.capitalize() for word in re.split(r"[._]", leaf.path))


def help_text(leaf: Leaf) -> str:
    """As "0 to 2: how freely it is drawn; 0 always takes the likeliest."."""
    told, absent = _split(description(leaf.field))
    told = ": ".join(part for part in (_bounds(leaf), told) if part)
    told += f"; one of {_listed(_choices(leaf))}" if _choices(leaf) else ""
    told += "; may be repeated" if leaf.is_list else ""
    told += f"; {EXAMPLE_OF_A_TIME}" if leaf.kind is AwareDatetime else ""
    absent = leaf.absent or absent or _default(leaf)
    told += f"; else {absent}" if absent else ""
    return f"{told[:1].upper()}{told[1:]}.".replace("`", "").replace("…", "...")


def _split(about: str) -> tuple[str, str]:
    """What a description says, and what it says of leaving the field out."""
    told, _, absent = re.sub("^absent: ", "; absent: ", about).partition("; absent: ")
    return told, absent


def _default(leaf: Leaf) -> str:
    default = leaf.field.default
    return str(default) if isinstance(default, str | int) and not isinstance(default, bool) else ""


def _type(kind: Any) -> str:  # noqa: ANN401
    if kind is AwareDatetime:
        return "str"
    if kind in (str, int, float, bool):
        return kind.__name__
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        return f"Literal[{', '.join(map(_quoted, choices))}]" if isinstance(choices[0], str) else "int"
    if get_origin(kind) in (list, tuple):
        entry = get_args(kind)[0]
        return "list[str]" if (get_args(entry)[0] if get_origin(entry) is Annotated else entry) is str else ""
    return ""


def _choices(leaf: Leaf) -> Sequence[int]:
    """Those that the type of the option does not tell."""
    return get_args(leaf.kind) if get_origin(leaf.kind) is Literal and _type(leaf.kind) == "int" else ()


def _known(leaf: Leaf) -> Iterator[str]:
    """What the command line has to know of it besides."""
    if leaf.kind is AwareDatetime:
        yield "is_time=True"
    if leaf.is_of_list:
        yield "is_by_hand=True"
    if wanted := _wanted(leaf):
        yield f"wanted={_quoted(wanted)}"


def _wanted(leaf: Leaf) -> str:
    """What a value has to be, behind "is not"."""
    limits = _range(leaf.constraints)
    if _choices(leaf):
        return f"one of {_listed(_choices(leaf))}"
    if Ge in limits and Le in limits:
        return f"between {limits[Ge]} and {limits[Le]}"
    return f"above {limits[Gt]} and at most {limits[Le]}" if Gt in limits and Le in limits else ""


def _bounds(leaf: Leaf) -> str:
    limits = _range(leaf.constraints)
    if Le not in limits or float(limits[Le]) > LARGEST_TOLD:
        return ""
    return f"{limits[Ge]} to {limits[Le]}" if Ge in limits else f"up to {limits[Le]}"


def _range(constraints: Sequence[Any]) -> Mapping[type, str]:
    """Bounds as they are written."""
    found: dict[type, str] = {}
    for each in constraints:
        match each:
            case Ge(ge=bound) | Gt(gt=bound) | Le(le=bound):
                found[type(each)] = f"{bound}".removesuffix(".0")
            case _:
                pass
    return found


def _listed(choices: Sequence[object]) -> str:
    return ", ".join(map(str, choices))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
