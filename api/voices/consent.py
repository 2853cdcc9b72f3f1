"""The consent that a voice rests on: a statement that comes with the voice."""

from __future__ import annotations

import re
import time

from api.access.caller_key import caller_key
from api.http.problems.problem import consent_missing, invalid_field
from api.settings import ApiSettings, ConsentBy
from rhapsode.contract.jobs.request import JobRequest
from storage.ids import TenantId
from storage.voices.records import Consent

OPERATORS_STATEMENT = "The operator of this server states that every speaker who is cloned here agrees."

_FORMER_ID = re.compile("con_[0-9a-z]{26}")
"""Consents had ids in releases before. One of them says nothing here."""


def is_consent(statement: str | None) -> bool:
    """`false` said in a form is none."""
    return (statement or "").strip().casefold() not in {"", "false", "no", "0", "none", "null"}


def actor_of(tenant: TenantId) -> str:
    """Whose key the request at hand came with; the tenant where that key has no id."""
    return caller_key() or tenant


def stated(settings: ApiSettings, said: str | None) -> str | None:
    """What a request says of consent, or the operator's statement for the whole deployment where it says nothing."""
    return OPERATORS_STATEMENT if not said and settings.consent is ConsentBy.OPERATOR else said


def with_consent(settings: ApiSettings, request: JobRequest) -> JobRequest:
    """The request as it is decided on: `stated` for the voice that it brings."""
    if not request.brings_voice:
        return request
    return request.model_copy(update={"consent": stated(settings, request.consent)})


def consent_of(said: str | None, tenant: TenantId) -> Consent:
    """The statement, given now. Raises the `Problem` that there is none."""
    if not is_consent(said):
        raise consent_missing()
    statement = (said or "").strip()
    if _FORMER_ID.fullmatch(statement):
        raise invalid_field("/consent", "not_supported", "consents have no ids any more: send the speaker's statement")
    return Consent(statement, actor_of(tenant), round(time.time() * 1000))
