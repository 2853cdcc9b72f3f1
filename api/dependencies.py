"""Dependencies of routes. All are async: a plain function would take a thread.

A dependency does not name another one by annotation: the framework would resolve it again for each, eleven times for a
submission.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from pydantic import AfterValidator

from api.access.authentication import Caller, identify
from api.http.links import LinkBuilder
from api.http.own_address import address_of
from api.http.problems.problem import problem
from api.services.container import ApiServices
from rhapsode.contract.operators.keys import TENANT_NAME
from storage.ids import JOB_ID, VOICE_ID, JobId, TenantId, VoiceId


async def services_of(request: Request) -> ApiServices:
    return request.app.state.services


Services = Annotated[ApiServices, Depends(services_of)]


async def _caller(request: Request) -> Caller:
    return await identify(request, await services_of(request))


async def _tenant(request: Request) -> TenantId:
    return (await _caller(request)).tenant


Tenant = Annotated[TenantId, Depends(_tenant)]


async def _tenant_name(tenant_name: str) -> TenantId:
    """A tenant that an operator names. It may own nothing yet."""
    if not TENANT_NAME.fullmatch(tenant_name):
        raise problem("not_found", f"{tenant_name[:64]!r} is no tenant's name")
    return TenantId(tenant_name)


def id_like(form: re.Pattern[str], kind: str) -> AfterValidator:
    """Answer 404 for a path parameter that cannot be an id of this kind."""

    def check(text: str) -> str:
        if not form.fullmatch(text):
            raise problem("not_found", f"there is no {kind} {text[:64]!r}")
        return text

    return AfterValidator(check)


KnownTenant = Annotated[TenantId, Depends(_tenant_name)]


async def job_id_of(job_id: str) -> JobId:
    """Answers 404 for text that cannot be an id."""
    if not JOB_ID.fullmatch(job_id):
        raise problem("not_found", f"there is no job {job_id[:64]!r}")
    return JobId(job_id)


KnownJobId = Annotated[JobId, Depends(job_id_of)]


async def _voice_id(voice_id: str) -> VoiceId:
    if not VOICE_ID.fullmatch(voice_id):
        raise problem("voice_not_found", f"{voice_id[:64]!r} is no id of an uploaded voice; those begin with voc_")
    return VoiceId(voice_id)


KnownVoiceId = Annotated[VoiceId, Depends(_voice_id)]


async def _links(request: Request) -> LinkBuilder:
    services = await services_of(request)
    return LinkBuilder(services.settings.public_url or address_of(request).base)


Links = Annotated[LinkBuilder, Depends(_links)]


@dataclass(frozen=True, slots=True)
class RequestContext:
    """A request's tenant, services and addresses."""

    tenant: TenantId
    services: ApiServices
    links: LinkBuilder


async def asked_by(request: Request) -> RequestContext:
    tenant = await _tenant(request)
    return RequestContext(tenant, await services_of(request), await _links(request))


KnownAsked = Annotated[RequestContext, Depends(asked_by)]
"""`Tenant`, `Services` and `Links` in one dependency: the framework takes time for each."""


async def json_bytes_of(request: Request) -> bytes:
    """The body as sent, from an authenticated caller."""
    await _caller(request)
    return await read_json_bytes(request)


JsonBytes = Annotated[bytes, Depends(json_bytes_of)]


async def read_json_bytes(request: Request) -> bytes:
    """The body as sent, with a JSON content type. `BodyLimit` bounds its size. Raises an `HttpProblem`."""
    media_type, *parameters = (part.strip().lower() for part in request.headers.get("content-type", "").split(";"))
    if media_type != "application/json":
        raise problem("unsupported_media", "the body must be application/json")
    if any(
        p.startswith("charset=") and p.removeprefix("charset=").strip("\"'") not in {"utf-8", "utf8"}
        for p in parameters
    ):
        raise problem("unsupported_media", "JSON is UTF-8")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise problem("unsupported_media", "the body must not be compressed")
    return await request.body()


async def _optional_json_bytes(request: Request) -> bytes:
    """Like `json_bytes_of`, with an optional body."""
    await _caller(request)
    if "content-type" not in request.headers and not (await request.body()):
        return b""
    return await read_json_bytes(request)


OptionalJsonBytes = Annotated[bytes, Depends(_optional_json_bytes)]
