"""What a worker and the process that drafts a plan say to each other: a line of JSON, and after it bytes as they are.

The line tells how long each piece after it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import IO, Any, cast

from reading.dialogue.proposal import Dialogue
from reading.drafting.draft import Draft
from reading.drafting.warnings import TextWarning
from reading.plan.plan import decode_plan, encode_plan
from reading.script.script import LeftOutText
from storage.jobs.record import JobError
from storage.jobs.record_codec import decode_spec, encode_spec
from storage.narration.spec import NarrationSpec
from worker.errors import PermanentItemError
from worker.planning.drafting.draft import DraftRequest


def write_request(request: DraftRequest, file: IO[bytes]) -> None:
    file.writelines(_message({"spec": encode_spec(request.spec)}, (request.data, request.lines, *request.dictionaries)))


def read_request(file: IO[bytes]) -> DraftRequest:
    """What `write_request` wrote."""
    head: dict[str, Any] = json.loads(file.readline())
    data, lines, *dictionaries = (file.read(size) for size in head["sizes"])
    return DraftRequest(cast("NarrationSpec", decode_spec(head["spec"])), data, tuple(dictionaries), lines)


def encode_draft(draft: Draft) -> bytes:
    head: dict[str, object] = {
        "speech_ms": draft.speech_ms,
        "warnings": [[warning.code, warning.detail, warning.segment] for warning in draft.warnings],
        "has_chapters": draft.has_chapters,
        "left_out": [[each.kind, each.count, each.first] for each in draft.left_out],
        "dialogue": draft.dialogue and draft.dialogue.rows(),
    }
    cover = () if draft.cover is None else (draft.cover,)
    return b"".join(_message(head, (encode_plan(draft.plan), draft.text.encode(), *cover)))


def encode_refusal(error: JobError) -> bytes:
    return b"".join(_message({"refused": error.detail, "code": error.code}, ()))


def decode_answer(answer: bytes) -> Draft:
    """Raises the `PermanentItemError` it holds, or `ValueError` if it is no answer."""
    line, _, rest = answer.partition(b"\n")
    try:
        head: dict[str, Any] = json.loads(line)
        if "refused" in head:
            raise PermanentItemError(JobError(head["code"], head["refused"]))
        plan, text, *cover = _pieces(rest, head["sizes"])
        return Draft(
            plan=decode_plan(plan),
            text=text.decode(),
            speech_ms=head["speech_ms"],
            warnings=tuple(TextWarning(*warning) for warning in head["warnings"]),
            has_chapters=head["has_chapters"],
            cover=cover[0] if cover else None,
            left_out=tuple(LeftOutText(*each) for each in head["left_out"]),
            dialogue=head["dialogue"] and Dialogue.of_rows(head["dialogue"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not an answer: {error}") from error


def _message(head: dict[str, object], pieces: Sequence[bytes]) -> Iterator[bytes]:
    yield f"{json.dumps(head | {'sizes': [len(piece) for piece in pieces]})}\n".encode()
    yield from pieces


def _pieces(data: bytes, sizes: Sequence[int]) -> Iterator[bytes]:
    at = 0
    for size in sizes:
        yield data[at : at + size]
        at += size
