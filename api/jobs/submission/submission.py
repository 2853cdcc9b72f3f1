"""A narration's submission: replay, parse, look up the facts, decide, store.

A refusal at any step leaves nothing behind, in Redis or in the store.
"""

from __future__ import annotations

from api.acceptance.acceptance import Accepted, find_response
from api.acceptance.deadlines import refuse_unreachable
from api.http.json_body import parse_json
from api.http.parsing import parse_fields
from api.http.problems.problem import HttpProblem, text_too_long
from api.jobs.submission.decision import decide
from api.jobs.submission.facts import look_up
from api.jobs.submission.storing import store
from api.services.intake import JobIntake
from api.voices.consent import with_consent
from rhapsode.contract.jobs.request import JobRequest
from storage.ids import JobId, TenantId, new_job_id
from storage.jobs.submissions import IdempotencyKey


def submit_narration(
    intake: JobIntake,
    tenant: TenantId,
    body: bytes,
    idempotency: IdempotencyKey | None,
    api_url: str,
    chosen: JobId | None = None,
) -> Accepted:
    """As `accept_narration`, of a body as it was sent."""
    if idempotency and (replayed := find_response(intake.jobs, tenant, idempotency)):
        return Accepted(replayed, replayed=True)
    request = parse_job_request(body, intake.settings.max_text_chars)
    return accept_narration(intake, tenant, request, idempotency, api_url, chosen)


def accept_narration(
    intake: JobIntake,
    tenant: TenantId,
    request: JobRequest,
    idempotency: IdempotencyKey | None,
    api_url: str = "",
    chosen: JobId | None = None,
) -> Accepted:
    """api_url: for links in webhooks. chosen: the job's id, if not a new one; no other request creates it meanwhile.

    Raises a `Problem` or a `StorageError`.
    """
    request, job = with_consent(intake.settings, request), chosen or new_job_id()
    # A recording that came along is fetched once.
    recent = () if request.ref_audio is not None else intake.recent_models.list()
    try:
        decision = decide(facts := look_up(intake, tenant, request, job, api_url, recent or None))
    except HttpProblem:
        if not recent:
            raise
        # Workers may have announced more since the last look.
        decision = decide(facts := look_up(intake, tenant, request, job, api_url))
    refuse_unreachable(intake.queue_positions, decision.submission)
    return store(intake, request, facts, decision, idempotency)


def parse_job_request(body: bytes, max_text_chars: int) -> JobRequest:
    """Raises a `Problem`: 400 for what is not JSON, 422 for what is not a job."""
    document = parse_json(body)
    match document:
        # Before anything looks at every character of it.
        case {"input": {"text": str(text)}} if len(text) > max_text_chars:
            raise text_too_long(len(text), max_text_chars)
        case {"input": {"ssml": str(ssml)}} if len(ssml) > max_text_chars:
            raise text_too_long(len(ssml), max_text_chars, "/input/ssml")
        case _:
            pass
    return parse_fields(JobRequest, document)
