"""`POST /v1/audio/speech` in OpenAI's shape: a short text in, its audio back, by the same jobs as everything else.

The job is of the interactive class and has a deadline. Its caller waits; one who goes takes the job along, unless an
idempotency key says that they come back for it. With `Prefer: respond-async` the answer is the job itself.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated

import anyio
from anyio.to_thread import run_sync
from fastapi import APIRouter, Header, Request
from pydantic import JsonValue, ValidationError
from starlette.responses import Response
from starlette.types import Receive

from api.acceptance.acceptance import Accepted, find_response
from api.dependencies import JsonBytes, Links, Services, Tenant
from api.http.bodies import json_body
from api.http.idempotency_key import idempotency_key
from api.http.parsing import body_violations, parse_body
from api.http.problems.problem import (
    DeadlineUnreachable,
    Problem,
    backlog_full,
    invalid,
    invalid_field,
    payload_too_large_for_speech,
    state_conflict,
)
from api.job_answers.answers import accepted_answer
from api.job_answers.failure_view import failure_status
from api.job_answers.waiting import wait_until_ended
from api.services.container import ApiServices
from api.submission.submission import accept_narration
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.jobs.states import JobState
from rhapsode.contract.openai import MAX_INPUT_CHARS, SpeechOrder
from storage.audio.wav import HEADER_BYTES
from storage.errors import StateConflict
from storage.ids import TenantId
from storage.jobs.record import JobRecord
from storage.jobs.submissions import IdempotencyKey
from storage.queue.model_registry import ModelCard

router = APIRouter(prefix="/v1/audio/speech", tags=["audio"])

PATIENCE_S = 120
"""What a caller can be kept waiting for: the job's deadline."""

DESIGNED_VOICES = ("design", "auto")
"""What stands for the voice that a model makes itself: OpenAI's client always sends one."""

RETENTION_S = 3600
"""Of the job behind an answer, for those who ask again under their key."""

MEDIA_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}

FINDINGS_HEADER = "X-Quality-Findings"
"""Of speech that is delivered although it did not pass its checks: what was found, as `findings` of a segment."""

_ASYNC = re.compile(r"(?:^|[,;\s])respond-async(?=$|[,;\s])", re.IGNORECASE)


@router.post(
    "",
    response_class=Response,
    responses={200: {"content": {name: {"schema": {"type": "string"}} for name in MEDIA_TYPES.values()}}},
    openapi_extra=json_body(SpeechOrder),
)
async def speak(
    request: Request,
    tenant: Tenant,
    services: Services,
    links: Links,
    body: JsonBytes,
    prefer: Annotated[str | None, Header(description="`respond-async`: 202 with the job, as of `/v1/jobs`")] = None,
    idempotency_header: Annotated[str | None, Header(alias="Idempotency-Key")] = None,
) -> Response:
    """A text of up to 4,096 characters, spoken: the whole audio, once all of it is there and was checked.

    Speech that did not pass its checks in any attempt is the least bad one, with what was found in
    `X-Quality-Findings`. 422 for a text of which nothing can be heard.

    It goes before bulk work, and is given up if it cannot be done within 120 s: 503 at once if that is known, 504
    otherwise. Who breaks off the connection cancels it, unless the request has an Idempotency-Key. Longer texts, other
    outputs and audio as it is made are `/v1/jobs` and `/v1/jobs/{id}/audio`.
    """
    key = idempotency_key(idempotency_header, body, "/v1/audio/speech")
    order = await run_sync(_parsed, body)
    is_async = _ASYNC.search(prefer or "") is not None
    accepted = await run_sync(_accept, services, tenant, order, key, links.base, is_async)
    if is_async:
        answer = await run_sync(accepted_answer, services, links, accepted)
        answer.headers["Preference-Applied"] = "respond-async"
        return answer
    record = await _ended(services, accepted.job, request.receive)
    if not record.state.is_terminal:
        if key is None:
            await run_sync(_cancel, services, record)
        raise _unfinished(record)
    return await run_sync(_audio, services, record, order, accepted.replayed)


def _parsed(body: bytes) -> SpeechOrder:
    order = parse_body(SpeechOrder, body)
    if len(order.input) > MAX_INPUT_CHARS:
        raise payload_too_large_for_speech(len(order.input), MAX_INPUT_CHARS)
    return order


def _accept(
    services: ApiServices,
    tenant: TenantId,
    order: SpeechOrder,
    key: IdempotencyKey | None,
    api_url: str,
    is_async: bool,  # noqa: FBT001 - what the header says, passed on
) -> Accepted:
    if replayed := find_response(services, tenant, key):
        return Accepted(replayed, replayed=True)
    voice = chosen_voice(order, services.models.get(order.model))
    deadline = None if is_async else datetime.now(UTC) + timedelta(seconds=PATIENCE_S)
    try:
        return accept_narration(services, tenant, job_request(order, voice, deadline), key, api_url)
    except DeadlineUnreachable as problem:
        detail = f"this would take longer than {PATIENCE_S} s now; a job of /v1/jobs can wait"
        raise backlog_full(detail, problem.late_s) from None


def chosen_voice(order: SpeechOrder, card: ModelCard | None) -> str | None:
    """None for a voice that the model makes itself. Raises a `Problem` for none where one has to be named."""
    wanted = order.voice_name
    if card is not None and card.task == "voice_design":
        if wanted is None or wanted.casefold() in DESIGNED_VOICES:
            return None
        detail = f"{card.name} makes its voice from `instructions`; leave `voice` out, or send {DESIGNED_VOICES[0]!r}"
        raise invalid_field("/voice", "not_supported", detail)
    if wanted is None:
        raise invalid_field("/voice", "missing", "this field is required")
    return wanted


def job_request(order: SpeechOrder, voice: str | None, deadline: datetime | None) -> JobRequest:
    """The narration that an order comes to. Raises the `Problem` of a text that cannot be spoken."""
    stored_as = "wav" if order.response_format == "pcm" else order.response_format
    fields: dict[str, JsonValue] = {
        "input": {"text": order.input},
        "model": order.model,
        "voice": voice,
        "language": order.language,
        "instructions": order.instructions,
        "reuse": order.reuse,
        "output": {"formats": [{"type": stored_as}], "speed": order.speed},
        "priority": "high",
        "deadline": deadline.isoformat() if deadline else None,
        "retention_s": RETENTION_S,
    }
    try:
        return JobRequest.model_validate({name: value for name, value in fields.items() if value is not None})
    except ValidationError as error:
        # What is wrong with the text is wrong with `input`, as the caller calls it.
        found = [replace(each, pointer=(each.pointer or "").removesuffix("/text")) for each in body_violations(error)]
        raise invalid(found) from None


async def _ended(services: ApiServices, record: JobRecord, receive: Receive) -> JobRecord:
    """The job at its end; sooner if the caller goes, or nothing has ended it a while after its deadline."""
    is_gone = anyio.Event()

    async def watch() -> None:
        # The body has been read: what still comes is the end of the connection.
        while (await receive())["type"] != "http.disconnect":
            pass
        is_gone.set()
        waiting.cancel()

    async def has_gone() -> bool:
        return is_gone.is_set()

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        with anyio.CancelScope() as waiting:
            record = await wait_until_ended(services, record, PATIENCE_S + 10, has_gone)
        group.cancel_scope.cancel()
    return record


def _cancel(services: ApiServices, record: JobRecord) -> None:
    try:
        services.tickets.send(services.jobs.cancel(record.tenant, record.id).tickets)
    except StateConflict:
        # It ended by itself meanwhile, and the client has gone.
        return


def _audio(services: ApiServices, record: JobRecord, order: SpeechOrder, is_replay: bool) -> Response:  # noqa: FBT001
    if record.state is not JobState.SUCCEEDED:
        raise _failure(record)
    stored_as = "wav" if order.response_format == "pcm" else order.response_format
    artifact = next(each for each in record.artifacts if each.type == stored_as)
    audio = services.artifacts.get(artifact.key)
    headers = {"X-Job-Id": record.id} | ({"Idempotency-Replayed": "true"} if is_replay else {})
    if found := _findings(services, record):
        headers[FINDINGS_HEADER] = ", ".join(found)
    content = audio[HEADER_BYTES:] if order.response_format == "pcm" else audio
    return Response(content, 200, headers, MEDIA_TYPES[order.response_format])


def _findings(services: ApiServices, record: JobRecord) -> list[str]:
    """Names of what was found in segments that were kept all the same, each once."""
    if not record.segments.flagged:
        return []
    results = services.jobs.segment_results(record.tenant, record.id)
    return list(dict.fromkeys(flag for result in results for flag in result.flags))


def _unfinished(record: JobRecord) -> Problem:
    detail = f"job {record.id} is not done after {PATIENCE_S} s"
    return Problem(504, "deadline_exceeded", "Not done in time", detail, retryable=True)


def _failure(record: JobRecord) -> Problem:
    """Why there is no audio, with the status of an API whose jobs are not seen."""
    match record.state, record.error:
        case JobState.EXPIRED, _:
            return _unfinished(record)
        case JobState.CANCELLED, _:
            return state_conflict(f"job {record.id} was cancelled")
        case _, None:
            raise RuntimeError(f"{record.id} is {record.state} and says not why")
        case _, error:
            title = "The speech could not be made"
            return Problem(failure_status(error.code) or 500, error.code, title, error.detail)
