"""What a caller does with a job under way or ended: pause, resume, change, retry, assemble again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Header, Response
from pydantic import JsonValue, ValidationError

from api.acceptance.deadlines import future_ms, start_ms
from api.access.idempotent_route import IdempotentRoute
from api.dependencies import JsonBytes, KnownJobId, Links, OptionalJsonBytes, Services, Tenant
from api.http.bodies import json_body
from api.http.idempotency_key import idempotency_key
from api.http.links import LinkBuilder
from api.http.parsing import body_violations, parse_body
from api.http.problems.problem import invalid, invalid_field
from api.jobs.answers.answers import shown_job
from api.jobs.answers.view import retry_after_s
from api.jobs.segments.planned_job import narration_of
from api.jobs.submission.output import resolve_output
from api.jobs.submission.quality import refuse_quality
from api.jobs.submission.storing import copy_cover
from api.services.container import ApiServices
from rhapsode.contract.base import RequestBody
from rhapsode.contract.jobs.answer import Job
from rhapsode.contract.jobs.control import AssembleRequest, JobChange, RetryRequest
from rhapsode.contract.jobs.options import Sampling
from rhapsode.contract.jobs.output import Output, OutputChange, OutputFormat
from rhapsode.contract.jobs.presets import PRESETS
from rhapsode.contract.jobs.quality import Quality
from storage.job_store.calls import Transitioned
from storage.job_store.control import JobUpdate
from storage.jobs.record import JobSpec
from storage.narration.audio_formats import default_bitrate_kbps
from storage.narration.spec import NarrationSpec
from storage.queue.model_registry import ModelCard

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=IdempotentRoute)


@router.patch("/{job_id}", response_model=Job, openapi_extra=json_body(JobChange))
def change_job(tenant: Tenant, services: Services, links: Links, job_id: KnownJobId, body: JsonBytes) -> Job:
    """Change what a job under way is allowed to: its priority, deadline, metadata, retention; and, while it waits for
    one, the time before which it may not start. 409 once it has ended.
    """
    change = parse_body(JobChange, body)
    if not change.model_fields_set:
        raise invalid_field("", "missing", "nothing is said that could be changed")
    outcome = services.jobs.control.patch(tenant, job_id, _changes(change))
    return shown_job(services, links, outcome.job)


@router.post("/{job_id}/pause", response_model=Job)
def pause_job(tenant: Tenant, services: Services, links: Links, job_id: KnownJobId) -> Job:
    """Nothing more of the job is begun; what is being spoken is finished and kept. Repeating it is no error."""
    return shown_job(services, links, services.jobs.store.pause(tenant, job_id).job)


@router.post("/{job_id}/resume", response_model=Job)
def resume_job(tenant: Tenant, services: Services, links: Links, job_id: KnownJobId) -> Job:
    """Go on with a paused job. Repeating it is no error."""
    outcome = services.jobs.store.resume(tenant, job_id)
    services.tickets.send(outcome.tickets)
    return shown_job(services, links, outcome.job)


@router.post(
    "/{job_id}/retry", status_code=202, response_model=Job, openapi_extra=json_body(RetryRequest, required=False)
)
def retry_job(
    tenant: Tenant, services: Services, links: Links, job_id: KnownJobId, body: OptionalJsonBytes, response: Response
) -> Job:
    """Do what a failed, cancelled or expired job lacks; finished segments are kept. The deadline is removed.

    Repeating it is no error, and a job under way stays as it is. 409 for a job that has succeeded.
    """
    order = parse_body(RetryRequest, body) if body else RetryRequest()
    outcome = services.jobs.control.retry(tenant, job_id, _overriding(order, services))
    return _started(services, links, outcome, response)


@router.post(
    "/{job_id}/assemble", status_code=202, response_model=Job, openapi_extra=json_body(AssembleRequest, required=False)
)
def assemble_job(
    tenant: Tenant,
    services: Services,
    links: Links,
    job_id: KnownJobId,
    body: OptionalJsonBytes,
    response: Response,
    idempotency_header: Annotated[str | None, Header(alias="Idempotency-Key")] = None,
) -> Job:
    """Make the artifacts again, with the given changes to the output. Nothing is spoken.

    Files of before stay as they were beside the new ones; one of the same name takes their place once it is there.
    They go when the narration says something else: after an edit, another take, another pause. 409 unless every
    segment is done.
    """
    order = parse_body(AssembleRequest, body) if body else AssembleRequest()
    idempotency = idempotency_key(idempotency_header, body, f"/v1/jobs/{job_id}/assemble")
    record = services.jobs.store.get(tenant, job_id)
    narration_of(record)

    def change(spec: NarrationSpec) -> NarrationSpec:
        if order.output is None:
            return spec
        return spec.asking(output=resolve_changed_output(order.output, spec.request.output, record.sample_rate_hz))

    cover = order.output.cover if order.output else None
    if cover is not None:
        copy_cover(services.artifacts, tenant, job_id, cover)
    outcome = services.jobs.control.assemble(tenant, job_id, change, idempotency)
    return _started(services, links, outcome, response)


def _started(services: ApiServices, links: LinkBuilder, outcome: Transitioned, response: Response) -> Job:
    services.tickets.send(outcome.tickets)
    job = shown_job(services, links, outcome.job)
    response.headers["Location"] = job.links.self_
    if not outcome.job.state.is_terminal:
        response.headers["Retry-After"] = str(retry_after_s(job))
    return job


def _changes(change: JobChange) -> JobUpdate:
    deadline_ms = change.deadline and future_ms(change.deadline)
    return JobUpdate(
        priority=change.priority,
        deadline_ms=_removable(change, "deadline", deadline_ms),
        not_before_ms=_removable(change, "not_before", change.not_before and start_ms(change.not_before)),
        metadata=change.metadata,
        retention_s=change.retention_s,
    )


def _removable(change: JobChange, name: str, unix_ms: int | None) -> int | None:
    """0 for what is to be removed."""
    return 0 if unix_ms is None and name in change.model_fields_set else unix_ms


def _overriding(order: RetryRequest, services: ApiServices) -> Callable[[JobSpec], JobSpec] | None:
    """The job's spec with the fields of the order in it; None if there are none."""
    if not order.model_fields_set:
        return None
    cards = services.models.list()

    def change(spec: JobSpec) -> JobSpec:
        if not isinstance(spec, NarrationSpec):
            raise invalid_field("", "not_supported", "a job of kind voice_cache is retried as it is")
        card = next((card for card in cards if card.name == spec.model), None)
        asked = spec.asking(
            quality=_quality(order.quality, spec, card),
            sampling=_sampling(order, spec),
            seed=spec.request.seed if order.seed is None else order.seed,
        )
        return replace(asked, seed_fixed=spec.seed_fixed or order.seed is not None)

    return change


def _quality(wanted: Quality | None, spec: NarrationSpec, card: ModelCard | None) -> Quality:
    if wanted is None:
        return spec.request.quality
    merged = spec.request.quality.model_copy(update=_named(wanted))
    if card is None:
        raise invalid_field("/quality", "not_available", f"no worker of {spec.model} has said what it can check")
    refuse_quality(merged, spec.request.language, card)
    return merged


def _sampling(order: RetryRequest, spec: NarrationSpec) -> Sampling:
    if order.sampling is None:
        return spec.request.sampling
    merged = spec.request.sampling.model_dump() | _named(order.sampling)
    try:
        return Sampling.model_validate(merged)
    except ValidationError as error:
        raise invalid([replace(each, pointer="/sampling") for each in body_violations(error)]) from None


def _named(part: RequestBody) -> dict[str, object]:
    """The fields that the caller sent."""
    return part.model_dump(exclude_unset=True)


def resolve_changed_output(change: OutputChange, old: Output, model_rate_hz: int) -> Output:
    """Raises a `Problem` for what no file can be, and for another place: finished files stay where they are."""
    stays = _as_asked(old, model_rate_hz)
    if change.preset is not None:
        stays = {name: value for name, value in stays.items() if name not in PRESETS[change.preset].output}
    merged = merge_patch(stays, change.model_dump(mode="json", exclude_unset=True))
    new = resolve_output(Output.model_validate(merged), model_rate_hz)
    if new.destination != old.destination:
        raise invalid_field("/output/destination", "not_supported", "a job stays with the destination that it has")
    return new


def merge_patch(old: JsonValue, change: JsonValue) -> JsonValue:
    """RFC 7396."""
    if not isinstance(change, dict):
        return change
    merged = dict(old) if isinstance(old, dict) else {}
    for name, value in change.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def _as_asked(output: Output, model_rate_hz: int) -> dict[str, JsonValue]:
    """The request that comes to this output; what is as it is by default is left out, unless a preset would fill it."""
    rate_hz = output.sample_rate or model_rate_hz
    governed = set(PRESETS[output.preset].output) if output.preset else set[str]()
    said = output.model_dump(mode="json")
    asked = {name: value for name, value in said.items() if value is not None or name in governed}
    return asked | {"formats": [_format(form, rate_hz) for form in output.formats]}


def _format(form: OutputFormat, rate_hz: int) -> JsonValue:
    """Without a bitrate that was not chosen, for another sample rate has another."""
    is_chosen = form.bitrate_kbps != default_bitrate_kbps(form.type, rate_hz)
    return form.model_dump(mode="json", exclude=None if is_chosen else {"bitrate_kbps"})
