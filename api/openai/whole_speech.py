"""Speech that a job makes and checks as a whole while the caller waits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import anyio
from starlette.responses import Response
from starlette.types import Receive

from api.acceptance.acceptance import Accepted, find_response
from api.http.problems.problem import DeadlineUnreachable, HttpProblem, backlog_full, problem
from api.jobs.answers.failure_view import failure_status
from api.jobs.answers.waiting import wait_until_ended
from api.jobs.segments.planned_job import narration_of
from api.jobs.submission.submission import accept_narration
from api.openai.headers import MEDIA_TYPES, spoken_headers
from api.openai.leniency import Wish, ignored_header, named, naming_sampling, without_what_cannot_be
from api.openai.orders import IGNORED, job_request, said_otherwise, stored_as
from api.openai.spoken_names import spoken_names
from api.services.container import ApiServices
from rhapsode.contract.jobs.states import JobState
from rhapsode.contract.openai import SpeechOrder
from storage.audio.wav import HEADER_BYTES
from storage.errors import StateConflict, StorageError
from storage.ids import TenantId
from storage.jobs.record import ArtifactRecord, JobRecord
from storage.jobs.submissions import IdempotencyKey

PATIENCE_S = 120
"""What a caller can be kept waiting for: the job's deadline."""

FINDINGS_HEADER = "X-Quality-Findings"
"""Of speech that is delivered although it did not pass its checks: what was found, as `findings` of a segment."""


def accept(
    services: ApiServices,
    tenant: TenantId,
    wish: Wish,
    key: IdempotencyKey | None,
    api_url: str,
    is_async: bool,  # noqa: FBT001 - what the header says, passed on
) -> Accepted:
    if key and (replayed := find_response(services.jobs.store, tenant, key)):
        return Accepted(replayed, replayed=True)
    return without_what_cannot_be(
        services, wish, lambda possible: _accepted(services, tenant, possible, key, api_url, is_async=is_async)
    )


def _accepted(
    services: ApiServices, tenant: TenantId, wish: Wish, key: IdempotencyKey | None, api_url: str, *, is_async: bool
) -> Accepted:
    names = spoken_names(services, tenant, wish.order, services.models.list())
    ignored = naming_sampling(wish, has_sampling=names.has_sampling).ignored
    request = job_request(wish.order, names, named(ignored))
    if not is_async:
        request = request.model_copy(update={"deadline": datetime.now(UTC) + timedelta(seconds=PATIENCE_S)})
    try:
        return accept_narration(services.intake, tenant, request, key, api_url)
    except DeadlineUnreachable as problem:
        detail = f"this would take longer than {PATIENCE_S} s now; a job of /v1/jobs can wait"
        raise backlog_full(detail, problem.late_s) from None
    except HttpProblem as problem:
        raise said_otherwise(problem) from problem


async def ended(services: ApiServices, records: Sequence[JobRecord], receive: Receive) -> list[JobRecord]:
    """The jobs at their ends; sooner if the caller goes, or nothing has ended one a while after its deadline."""
    known = list(records)
    failures: list[StorageError] = []

    async def watch() -> None:
        # The body has been read: what still comes is the end of the connection.
        while (await receive())["type"] != "http.disconnect":
            pass
        waiting.cancel()

    async def wait(place: int) -> None:
        try:
            known[place] = await wait_until_ended(services, known[place], PATIENCE_S + 10)
        except StorageError as error:
            failures.append(error)
            waiting.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        with anyio.CancelScope() as waiting:
            async with anyio.create_task_group() as waiters:
                for place in range(len(known)):
                    waiters.start_soon(wait, place)
        group.cancel_scope.cancel()
    if failures:
        raise failures[0]
    return known


def cancel(services: ApiServices, record: JobRecord) -> None:
    try:
        services.tickets.send(services.jobs.store.cancel(record.tenant, record.id).tickets)
    except StateConflict:
        # It ended by itself meanwhile, and the client has gone.
        return


def whole_answer(services: ApiServices, record: JobRecord, order: SpeechOrder, is_replay: bool) -> Response:  # noqa: FBT001
    content = whole_audio(services, record, order)
    spec = narration_of(record)
    headers = {"X-Job-Id": record.id, "X-Sample-Rate": str(record.sample_rate_hz)}
    headers |= spoken_headers(spec.model, spec.request.voice, spec.own_voice) | ignored_header(
        record.metadata.get(IGNORED, "")
    )
    if is_replay:
        headers["Idempotency-Replayed"] = "true"
    if found := _findings(services, record):
        headers[FINDINGS_HEADER] = ", ".join(found)
    return Response(content, 200, headers, MEDIA_TYPES[order.response_format])


def whole_audio(services: ApiServices, record: JobRecord, order: SpeechOrder) -> bytes:
    """Of a job that has ended. Raises the `HttpProblem` that it made none."""
    if record.state is not JobState.SUCCEEDED:
        raise _failure(record)
    audio = services.artifacts.get(_artifact(record, order).key)
    return audio[HEADER_BYTES:] if order.response_format == "pcm" else audio


def audio_s(record: JobRecord, order: SpeechOrder) -> float:
    return _artifact(record, order).duration_s or 0.0


def _artifact(record: JobRecord, order: SpeechOrder) -> ArtifactRecord:
    return next(each for each in record.artifacts if each.type == stored_as(order.response_format))


def _findings(services: ApiServices, record: JobRecord) -> list[str]:
    """Names of what was found in segments that were kept all the same, each once."""
    if not record.segments.flagged:
        return []
    results = services.jobs.store.segment_results(record.tenant, record.id)
    return list(dict.fromkeys(flag for result in results for flag in result.flags))


def give_up(services: ApiServices, record: JobRecord) -> HttpProblem:
    """The caller has gone, or waited as long as may be. The job is not wanted any more."""
    cancel(services, record)
    return unfinished(record)


def unfinished(record: JobRecord) -> HttpProblem:
    detail = f"job {record.id} is not done after {PATIENCE_S} s"
    return problem("deadline_exceeded", detail, retryable=True)


def _failure(record: JobRecord) -> HttpProblem:
    """Why there is no audio, with the status of an API whose jobs are not seen."""
    match record.state, record.error:
        case JobState.EXPIRED, _:
            return unfinished(record)
        case JobState.CANCELLED, _:
            return problem("state_conflict", f"job {record.id} was cancelled")
        case _, None:
            raise RuntimeError(f"{record.id} is {record.state} and says not why")
        case _, error:
            title = "The speech could not be made"
            return HttpProblem(failure_status(error.code) or 500, error.code, title, error.detail)
