"""A batch's file, line by line, with a memory of one shard. Each line is resolved like a job."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue, ValidationError
from pydantic_core import PydanticCustomError

from api.acceptance.deadlines import refuse_unreachable
from api.http.json_body import parse_json
from api.http.parsing import body_violations
from api.http.problems.problem import (
    MAX_VIOLATIONS,
    FieldViolation,
    HttpProblem,
    invalid,
    invalid_field,
    payload_too_large,
)
from api.jobs.submission.decision import decide
from api.jobs.submission.facts import look_up
from api.jobs.submission.storing import prepare_voice
from api.services.intake import JobIntake
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.speakable_text import check_label
from storage.ids import JobId, TenantId
from storage.jobs.batch_lines import BatchLine, encode_shard
from storage.jobs.batches import SHARD_LINES, child_id
from storage.objects.keys import batch_shard, job_prefix
from storage.queue.model_registry import ModelCard

MAX_LINES = 100_000
MAX_LINE_BYTES = 1024 * 1024
MAX_CUSTOM_ID_CHARS = 128
CUSTOM_ID = "custom_id"

_OF_A_JOB_ALONE = (
    "pronunciation_dictionaries",
    "ref_audio",
    "speaker_embedding",
    "consent",
    "webhook",
    "validate_only",
)
"""Fields that a single job may have and a line may not: each needs more stored data than the line."""


@dataclass(slots=True)
class _Checked:
    """The state of the check. cards: the models at the time of the request."""

    cards: Sequence[ModelCard]
    seen: dict[str, int]
    faults: list[FieldViolation]
    voices: set[tuple[str, str]]


def store_shards(intake: JobIntake, tenant: TenantId, batch: JobId, pieces: Iterable[bytes]) -> int:
    """Check the whole file and store it as shards; returns the number of its lines.

    Raises the `HttpProblem` that names the lines at fault, twenty at most, and leaves nothing stored then.
    """
    checked = _Checked(intake.models.list(), {}, [], set())
    num_lines = 0
    try:
        lines = _resolved_lines(intake, tenant, batch, pieces, checked)
        for index in itertools.count():
            shard = list(itertools.islice(lines, SHARD_LINES))
            if not shard or checked.faults:
                break
            intake.artifacts.put(batch_shard(tenant, batch, index), encode_shard(shard))
            num_lines += len(shard)
        if checked.faults:
            raise invalid(checked.faults)
        if num_lines == 0:
            raise invalid_field("", "missing", "the file has no line")
    except BaseException:
        intake.artifacts.delete_prefix(job_prefix(tenant, batch))
        raise
    return num_lines


def _resolved_lines(
    intake: JobIntake, tenant: TenantId, batch: JobId, pieces: Iterable[bytes], checked: _Checked
) -> Iterator[BatchLine]:
    """Ends early once so many faults were found."""
    num_lines = 0
    for number, line in enumerate(_lines(pieces), start=1):
        if not line.strip():
            continue
        num_lines += 1
        if num_lines > MAX_LINES:
            raise invalid_field("", "too_many", f"a batch has at most {MAX_LINES:,} lines")
        try:
            yield _resolved_line(intake, tenant, batch, number, line, checked)
        except ValidationError as error:
            checked.faults += [_at_line(number, fault) for fault in body_violations(error)]
        except HttpProblem as problem:
            if problem.status >= 500:
                raise
            faults = problem.violations or (FieldViolation(problem.code, problem.detail),)
            checked.faults += [_at_line(number, fault) for fault in faults]
        if len(checked.faults) >= MAX_VIOLATIONS:
            return


def _resolved_line(
    intake: JobIntake, tenant: TenantId, batch: JobId, number: int, line: bytes, checked: _Checked
) -> BatchLine:
    fields = parse_json(line)
    if not isinstance(fields, dict):
        raise invalid_field("", "wrong_type", "must be a JSON object")
    custom_id = _custom_id(fields.pop(CUSTOM_ID, None), number, checked)
    for name in _OF_A_JOB_ALONE:
        if name in fields:
            raise invalid_field(f"/{name}", "not_supported", "is not taken in a batch")
    request = JobRequest.model_validate(fields)
    if request.input.document is not None:
        raise invalid_field("/input/document", "not_supported", "is not taken in a batch")
    if request.input.lines:
        raise invalid_field("/input/lines", "not_supported", "is not taken in a batch")
    if request.output.cover is not None:
        raise invalid_field("/output/cover", "not_supported", "is not taken in a batch")
    if CUSTOM_ID in request.metadata:
        raise invalid_field(f"/metadata/{CUSTOM_ID}", "not_allowed", "is set to the line's own")
    job = JobId(child_id(batch, number))
    resolved = decide(look_up(intake, tenant, request, job, cards=checked.cards))
    refuse_unreachable(intake.queue_positions, resolved.submission)
    for voice in resolved.cast.voices:
        name = ("" if voice.own is None else voice.own.voice, request.if_cache_missing)
        if name not in checked.voices:
            checked.voices.add(name)
            prepare_voice(intake, tenant, voice)
    # No line has a document.
    text = resolved.input or b""
    submission = replace(resolved.submission, batch=batch, metadata={**request.metadata, CUSTOM_ID: custom_id})
    return BatchLine(number, custom_id, text.decode(), submission, resolved.cast.lead.card.takes_whole_jobs)


def _custom_id(value: JsonValue, number: int, checked: _Checked) -> str:
    pointer = f"/{CUSTOM_ID}"
    if not isinstance(value, str) or not 0 < len(value) <= MAX_CUSTOM_ID_CHARS:
        detail = f"must be a text of 1 to {MAX_CUSTOM_ID_CHARS} characters"
        raise invalid_field(pointer, "missing" if value is None else "wrong_type", detail)
    try:
        check_label(value)
    except PydanticCustomError as error:
        raise invalid_field(pointer, error.type, error.message()) from error
    first = checked.seen.setdefault(value, number)
    if first != number:
        raise invalid_field(pointer, "taken", f"line {first} has it already")
    return value


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Without their ends. Raises the `HttpProblem` of one that is too long."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        if max((len(line) for line in (*whole, rest)), default=0) > MAX_LINE_BYTES:
            raise payload_too_large(MAX_LINE_BYTES)
        yield from whole
    if rest:
        yield rest


def _at_line(number: int, fault: FieldViolation) -> FieldViolation:
    place = f"{fault.pointer}: " if fault.pointer else ""
    return FieldViolation(fault.code, f"line {number}: {place}{fault.detail}", pointer="")
