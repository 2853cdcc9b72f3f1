"""What a narration's request says when nobody has asked for anything, and its fields as options of the command line.

For the page, which shows a narration as code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

from generators.files import Files
from rhapsode.cli.grouped_options import grouped
from rhapsode.cli.job_fields import JobField
from rhapsode.cli.narrate.audio_options import LEVELLED
from rhapsode.cli.narrate.narrate import narrate
from rhapsode.contract.jobs.narration import ShownNarration
from rhapsode.contract.jobs.output import Loudness

MADE = Path("api/page/script/jobs/beside/usual.js")

_ASKED = {"model", "voice", "own_voice", "speakers", "seed", "input", "normalization", "validate_only"}
"""Each narration's own, or not what is asked for: the page says them always, or in words of their own."""

_BY_VALUE = {
    "normalization basic": "--words",
    "normalization off": "--raw",
    "reproducibility strict": "--strict",
    "reuse false": "--no-reuse",
}
"""Options of the command that stand for one value of a field."""

_HEAD = """\
// Made from rhapsode/contract/jobs/narration.py by `make generated`; change that, not this file.

/** A request of defaults, without the fields that differ for each narration. */
export const USUAL = """

_LEVELLED = """
/** The loudness that `rhapsode narrate` asks for by itself. */
export const LEVELLED = """

_FLAGS = """
/** Options of `rhapsode narrate` by the field that they are, or by field and value where they stand for one. */
export const FLAGS = """


def usual_request() -> Files:
    narration = ShownNarration(model="", voice="", own_voice=None, speakers={})
    values = narration.model_dump(mode="json", exclude=_ASKED)
    levelled = Loudness.model_validate(LEVELLED).model_dump(mode="json")
    parts = {_HEAD: values, _LEVELLED: levelled, _FLAGS: {**dict(_flags()), **_BY_VALUE}}
    return {MADE: "".join(f"{head}{json.dumps(value)};\n" for head, value in parts.items())}


def _flags() -> Iterator[tuple[str, str]]:
    """Not those that the command makes something else of."""
    for name, hint in get_type_hints(grouped(narrate), include_extras=True).items():
        for field in get_args(hint):
            if isinstance(field, JobField) and not field.is_by_hand:
                yield field.path, f"--{name.replace('_', '-')}"
