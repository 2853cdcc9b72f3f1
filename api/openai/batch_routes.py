"""`POST /v1/audio/speech/batch` in vLLM-Omni's shape: several short texts, each whole and checked, in one answer."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

from anyio.to_thread import run_sync
from fastapi import APIRouter, Header, Request
from ulid import ULID

from api.dependencies import JsonBytes, Links, Services, Tenant
from api.http.bodies import json_body
from api.http.idempotency_key import idempotency_key
from api.http.parsing import parse_body, parse_fields
from api.http.problems.problem import HttpProblem, payload_too_large_for_speech
from api.openai.headers import MEDIA_TYPES
from api.openai.leniency import Wish, named
from api.openai.orders import IGNORED, wish_of
from api.openai.silence import SILENCE_S, is_silent, spoken_silence
from api.openai.whole_speech import accept, audio_s, cancel, ended, give_up, unfinished, whole_audio
from api.services.container import ApiServices
from rhapsode.contract.openai import BatchedSpeech, SpeechBatch, SpeechOrder, SpokenBatch, SpokenItem, SpokenUsage
from storage.errors import StorageError
from storage.ids import TenantId
from storage.jobs.record import JobRecord
from storage.jobs.submissions import IdempotencyKey

router = APIRouter(prefix="/v1/audio/speech/batch", tags=["audio"])

MAX_BATCH_CHARS = 16_384
"""Of all texts together: 20 minutes of speech, whose WAV in base64 is 77 MB."""

_VOICE = frozenset({"voice", "speaker", "ref_audio", "speaker_embedding"})
"""Each says who speaks: an item that has one takes none of the others from the batch."""

_OF_A_RECORDING = frozenset({"ref_text", "x_vector_only_mode"})

_Outcome: TypeAlias = JobRecord | HttpProblem | bytes
"""The job of a text, why there is none, or the silence that is there for it."""


@router.post("", response_model=SpokenBatch, response_model_exclude_none=True, openapi_extra=json_body(SpeechBatch))
async def speak_batch(
    request: Request,
    tenant: Tenant,
    services: Services,
    links: Links,
    body: JsonBytes,
    idempotency_header: Annotated[str | None, Header(alias="Idempotency-Key")] = None,
) -> SpokenBatch:
    """Up to 32 texts, 16,384 characters together, spoken at the same time; each as `POST /v1/audio/speech` without
    `stream` would, with what the batch says where it says nothing itself. A text that cannot be spoken stops no other.

    A closed connection cancels all, unless the request has an Idempotency-Key: a repeat with it gets the same
    jobs.
    """
    key = idempotency_key(idempotency_header, body, "/v1/audio/speech/batch")
    wishes = await run_sync(_parsed, body)
    accepted = await run_sync(_all_accepted, services, tenant, wishes, key, links.base)
    jobs = {place: job for place, job in enumerate(accepted) if isinstance(job, JobRecord)}
    finished = dict(zip(jobs, await ended(services, list(jobs.values()), request.receive), strict=True))
    results = [
        await run_sync(_result, services, place, wish, finished.get(place, outcome), key)
        for place, (wish, outcome) in enumerate(zip(wishes, accepted, strict=True))
    ]
    return _told(results)


def _parsed(body: bytes) -> list[Wish | HttpProblem]:
    """Raises the `HttpProblem` of the batch itself."""
    batch = parse_body(SpeechBatch, body)
    shared = batch.model_dump(exclude_none=True, exclude={"items"})
    wishes = [_wish(shared, item) for item in batch.items]
    num_chars = sum(len(wish.order.input) for wish in wishes if isinstance(wish, Wish))
    if num_chars > MAX_BATCH_CHARS:
        raise payload_too_large_for_speech(num_chars, MAX_BATCH_CHARS)
    return wishes


def _wish(shared: dict[str, Any], item: object) -> Wish | HttpProblem:
    try:
        own = parse_fields(BatchedSpeech, item).model_dump(exclude_none=True)
        if _VOICE & own.keys():
            shared = {name: value for name, value in shared.items() if name not in _VOICE | _OF_A_RECORDING}
        return wish_of(parse_fields(SpeechOrder, shared | own))
    except HttpProblem as problem:
        return problem


def _all_accepted(
    services: ApiServices,
    tenant: TenantId,
    wishes: Sequence[Wish | HttpProblem],
    key: IdempotencyKey | None,
    api_url: str,
) -> list[_Outcome]:
    """All, or none where the system itself has no room. Raises a `HttpProblem` or a `StorageError`."""
    accepted: list[_Outcome] = []
    try:
        for place, wish in enumerate(wishes):
            of_item = None if key is None else IdempotencyKey(f"{key.key}#{place}", key.fingerprint)
            accepted.append(_accepted(services, tenant, wish, of_item, api_url))
    except (HttpProblem, StorageError):
        for job in accepted:
            if isinstance(job, JobRecord):
                cancel(services, job)
        raise
    return accepted


def _accepted(
    services: ApiServices, tenant: TenantId, wish: Wish | HttpProblem, key: IdempotencyKey | None, api_url: str
) -> _Outcome:
    if isinstance(wish, HttpProblem):
        return wish
    try:
        if is_silent(wish.order) and not services.settings.strict_speech:
            return spoken_silence(services, tenant, wish.order)[0]
        return accept(services, tenant, wish, key, api_url, False).job  # noqa: FBT003
    except HttpProblem as problem:
        if problem.status >= 500:
            raise
        return problem


def _result(
    services: ApiServices, index: int, wish: Wish | HttpProblem, outcome: _Outcome, key: IdempotencyKey | None
) -> SpokenItem:
    if isinstance(wish, HttpProblem):
        return _failed(index, wish, None)
    if isinstance(outcome, HttpProblem):
        return _failed(index, outcome, None)
    order = wish.order
    if isinstance(outcome, bytes):
        return _spoken(index, order, outcome, named(("input", *wish.ignored)), SpokenUsage.of(0, SILENCE_S), None)
    try:
        if not outcome.state.is_terminal:
            raise unfinished(outcome) if key is not None else give_up(services, outcome)
        audio = whole_audio(services, outcome, order)
    except HttpProblem as problem:
        return _failed(index, problem, outcome.id)
    usage = SpokenUsage.of(len(order.input), audio_s(outcome, order))
    return _spoken(index, order, audio, outcome.metadata.get(IGNORED), usage, outcome.id)


def _spoken(
    index: int, order: SpeechOrder, audio: bytes, ignored: str | None, usage: SpokenUsage, job: str | None
) -> SpokenItem:
    return SpokenItem(
        index=index,
        status="success",
        audio_data=base64.b64encode(audio).decode(),
        media_type=MEDIA_TYPES[order.response_format],
        ignored=ignored,
        usage=usage,
        job_id=job,
    )


def _failed(index: int, problem: HttpProblem, job: str | None) -> SpokenItem:
    return SpokenItem(index=index, status="error", error=problem.detail, code=problem.code, job_id=job)


def _told(results: Sequence[SpokenItem]) -> SpokenBatch:
    succeeded = sum(result.status == "success" for result in results)
    return SpokenBatch(
        id=f"speech-batch-{str(ULID()).lower()}",
        results=tuple(results),
        total=len(results),
        succeeded=succeeded,
        failed=len(results) - succeeded,
    )
