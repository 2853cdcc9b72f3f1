"""`POST /v1/audio/speech` in OpenAI's shape: a short text in, its audio back, by the same jobs as everything else.

The job is of the interactive class and is given up in time. Its caller waits; one who goes takes the job along, unless
an idempotency key says that they come back for it. With `Prefer: respond-async` the answer is the job itself. A stream
is no job: see `streaming`.
"""

from __future__ import annotations

import re
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Header, Request
from starlette.responses import Response

from api.dependencies import JsonBytes, Links, Services, Tenant
from api.http.bodies import json_body
from api.http.idempotency_key import idempotency_key
from api.http.problems.problem import invalid_header
from api.jobs.answers.answers import accepted_answer
from api.openai.headers import MEDIA_TYPES
from api.openai.leniency import ignored_header
from api.openai.orders import IGNORED, read_wish
from api.openai.silence import is_silent, silent_answer
from api.openai.streaming import EVENT_STREAM, stream_speech
from api.openai.whole_speech import accept, ended, give_up, unfinished, whole_answer
from rhapsode.contract.openai import MAX_ASYNC_CHARS, MAX_INPUT_CHARS, SpeechOrder
from storage.jobs.submissions import IdempotencyKey

router = APIRouter(prefix="/v1/audio/speech", tags=["audio"])

_CONTENT = {name: {"schema": {"type": "string"}} for name in (*MEDIA_TYPES.values(), EVENT_STREAM)}

_ASYNC = re.compile(r"(?:^|[,;\s])respond-async(?=$|[,;\s])", re.IGNORECASE)


@router.post("", response_class=Response, responses={200: {"content": _CONTENT}}, openapi_extra=json_body(SpeechOrder))
async def speak(
    request: Request,
    tenant: Tenant,
    services: Services,
    links: Links,
    body: JsonBytes,
    prefer: Annotated[str | None, Header(description="`respond-async`: 202 with the job, as of `/v1/jobs`")] = None,
    idempotency_header: Annotated[str | None, Header(alias="Idempotency-Key")] = None,
) -> Response:
    """A text of up to 4,096 characters, spoken: the whole audio, once all of it is there and was checked; or, with
    `stream` or `stream_format`, while it is made. `pcm` is a stream too, unless `stream` is false or the request has an
    Idempotency-Key or prefers `respond-async`.

    Whole speech that did not pass its checks in any attempt is the least bad one, with what was found in
    `X-Quality-Findings`. A text without a letter or digit is a short silence, and `X-Ignored` has `input`. Speech goes
    before bulk work, and is given up if it cannot be done within 120 s: 503 at once if that is known, 504 otherwise.
    Who breaks off the connection cancels it, unless the request has an Idempotency-Key.

    A stream has its own places at the workers: 429 with Retry-After at once if all are taken. What is wrong with it is
    said before its first byte; with `stream_format: sse` its last event says what was found in it. A stream that is
    broken off was not whole. `X-Model` and `X-Voice` say who speaks. `X-Ignored` names fields that are unknown, or
    beyond the model. A longer text needs `respond-async` or `/v1/jobs`, which has other outputs too.
    """
    key = idempotency_key(idempotency_header, body, "/v1/audio/speech")
    is_async = _ASYNC.search(prefer or "") is not None
    wish = await read_wish(
        body, min(MAX_ASYNC_CHARS, services.settings.max_text_chars) if is_async else MAX_INPUT_CHARS
    )
    order = wish.order
    if order.is_streamed:
        _refuse_kept(key, is_async=is_async)
    if is_silent(order) and not services.settings.strict_speech:
        return await run_sync(silent_answer, services, tenant, wish)
    if order.is_streamed or (order.is_played_at_once and key is None and not is_async):
        return await stream_speech(services, tenant, wish)
    accepted = await run_sync(accept, services, tenant, wish, key, links.base, is_async)
    if is_async:
        answer = await run_sync(accepted_answer, services, links, accepted)
        answer.headers["Preference-Applied"] = "respond-async"
        answer.headers.update(ignored_header(accepted.job.metadata.get(IGNORED, "")))
        return answer
    [record] = await ended(services, [accepted.job], request.receive)
    if not record.state.is_terminal:
        raise unfinished(record) if key is not None else await run_sync(give_up, services, record)
    return await run_sync(whole_answer, services, record, order, accepted.replayed)


def _refuse_kept(key: IdempotencyKey | None, *, is_async: bool) -> None:
    """Of a stream nothing is kept, so that nothing of it can be asked for again."""
    if key is not None:
        raise invalid_header("Idempotency-Key", "not_supported", "a stream is not kept; leave out `stream`, or the key")
    if is_async:
        raise invalid_header("Prefer", "not_supported", "a stream is the answer itself; leave out `stream`, or this")
