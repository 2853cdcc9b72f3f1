"""Every request that changes the course of a job as a value. No I/O: both clients send these.

All are safe to repeat.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypedDict

from pydantic import JsonValue

from rhapsode.client.calls import Call, job_path, resource
from rhapsode.client.jobs.submission import Sampling
from rhapsode.client.resources import Job

OnExhausted = Literal["keep_best", "keep_best_or_gap", "silence", "fail"]
"""What becomes of a segment that never passes its checks: see `quality` of a submission."""


class Quality(TypedDict, total=False):
    """How strictly segments are checked, and what becomes of one that never passes."""

    gate: Literal["off", "basic", "asr"]
    max_attempts: int
    on_exhausted: OnExhausted


class RetryOptions(TypedDict, total=False):
    """How what is missing is spoken and checked; what is left out is as the job has it."""

    quality: Quality
    sampling: Sampling
    seed: int


class JobChanges(TypedDict, total=False):
    """What is left out stays as it is. Times have a time zone; None removes one. metadata: replaces all there is.

    not_before: of a job whose time has not come; None lets it start at once.
    """

    priority: Literal["high", "normal", "low"]
    not_before: datetime | None
    deadline: datetime | None
    metadata: Mapping[str, str]
    retention_s: int


def pause_job(job_id: str) -> Call[Job]:
    return Call("POST", f"{job_path(job_id)}/pause", resource(Job))


def resume_job(job_id: str) -> Call[Job]:
    return Call("POST", f"{job_path(job_id)}/resume", resource(Job))


def change_job(job_id: str, changes: JobChanges) -> Call[Job]:
    """Raises `ValueError` for a time without a time zone."""
    return Call("PATCH", job_path(job_id), resource(Job), body=_changes_body(changes))


def retry_job(job_id: str, options: RetryOptions) -> Call[Job]:
    body: dict[str, JsonValue] = {}
    if "quality" in options:
        body["quality"] = _flat(options["quality"])
    if "sampling" in options:
        body["sampling"] = _flat(options["sampling"])
    if "seed" in options:
        body["seed"] = options["seed"]
    return Call("POST", f"{job_path(job_id)}/retry", resource(Job), body=body)


def assemble_job(job_id: str, output: Mapping[str, JsonValue] | None, idempotency_key: str | None) -> Call[Job]:
    body: dict[str, JsonValue] = {} if output is None else {"output": {**output}}
    headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
    return Call("POST", f"{job_path(job_id)}/assemble", resource(Job), headers=headers, body=body)


def _changes_body(changes: JobChanges) -> dict[str, JsonValue]:
    body: dict[str, JsonValue] = {}
    if "priority" in changes:
        body["priority"] = changes["priority"]
    if "not_before" in changes:
        body["not_before"] = _time("not_before", changes["not_before"])
    if "deadline" in changes:
        body["deadline"] = _time("deadline", changes["deadline"])
    if "metadata" in changes:
        body["metadata"] = {**changes["metadata"]}
    if "retention_s" in changes:
        body["retention_s"] = changes["retention_s"]
    return body


def _time(name: str, value: datetime | None) -> str | None:
    if value is not None and value.tzinfo is None:
        raise ValueError(f"{name} needs a time zone")
    return None if value is None else value.isoformat()


def _flat(fields: Mapping[str, object]) -> dict[str, JsonValue]:
    return {name: value for name, value in fields.items() if isinstance(value, str | int | float)}
