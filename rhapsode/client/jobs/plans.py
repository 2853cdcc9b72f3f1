"""A plan without speech: how an input is divided, who says what, and how long it will take."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import httpx

from rhapsode.client.calls import MAX_HOLD_S, Call, resource, submit_job
from rhapsode.client.jobs.inputs import JobInput
from rhapsode.client.jobs.submission import JobOptions
from rhapsode.client.resources import Job, JobState, JobWarning, Resource
from rhapsode.errors import JobNotSucceeded


class PlannedSpeaker(Resource):
    """`name` is empty for the job's own voice."""

    name: str
    voice: str
    num_segments: int
    estimated_audio_s: float


class PlannedChapter(Resource):
    """`id` is what a document's `include` names; empty for what comes before the first chapter."""

    id: str
    title: str
    first_segment: int
    num_segments: int
    estimated_audio_s: float


class PlannedSegment(Resource):
    """`text` is what is spoken, `source` what is written where that is something else."""

    index: int
    start: int
    end: int
    text: str
    pause_after_s: float
    estimated_audio_s: float
    source: str | None = None
    id: str | None = None
    speaker: str | None = None
    language: str | None = None
    instructions: str | None = None
    seed: int | None = None
    chapter: int | None = None


class Plan(Resource):
    """`estimated_render_s`: at the measured pace of the model's workers; None before anything was measured."""

    title: str
    author: str
    language: str
    has_cover: bool
    num_chars: int
    num_segments: int
    estimated_audio_s: float
    estimated_render_s: float | None
    warnings: tuple[JobWarning, ...] = ()
    speakers: tuple[PlannedSpeaker, ...]
    chapters: tuple[PlannedChapter, ...]
    segments: tuple[PlannedSegment, ...]


def order_plan(spoken: str | JobInput, options: JobOptions) -> Call[Plan | Job]:
    """The plan, or the job that makes it if that takes longer. Repeating the call asks for the same plan again."""
    call = submit_job(spoken, options, str(uuid.uuid4()))
    body = call.body if isinstance(call.body, dict) else {}
    return Call(
        call.method,
        call.path,
        _plan_or_job,
        headers=call.headers,
        body={**body, "validate_only": True},
        hold_s=MAX_HOLD_S,
    )


def settled(answer: Plan | Job) -> Plan | None:
    """The plan, or None while it is being made. Raises `JobNotSucceeded` if there will be none."""
    if isinstance(answer, Plan):
        return answer
    if answer.state.is_terminal and answer.state is not JobState.SUCCEEDED:
        raise JobNotSucceeded(answer)
    return None


_read_plan: Callable[[httpx.Response], Plan] = resource(Plan)
_read_job: Callable[[httpx.Response], Job] = resource(Job)


def _plan_or_job(response: httpx.Response) -> Plan | Job:
    return _read_plan(response) if response.status_code == 200 else _read_job(response)
