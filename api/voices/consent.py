"""The consent that a voice rests on: one that was laid down, by its id, or a statement that comes with the voice."""

from __future__ import annotations

import time

from api.access.caller_key import caller_key
from api.http.problems.problem import Problem, consent_missing, invalid_field
from storage.errors import ConsentNotFound
from storage.ids import CONSENT_ID, CONSENT_PREFIX, ConsentId, TenantId
from storage.voices.consent_store import ConsentStore
from storage.voices.consents import ConsentRecord
from storage.voices.records import Consent


def is_consent(statement: str | None) -> bool:
    """`false` said in a form is none."""
    return (statement or "").strip().casefold() not in {"", "false", "no", "0", "none", "null"}


def actor_of(tenant: TenantId) -> str:
    """Whose key the request at hand came with; the tenant where that key has no id."""
    return caller_key() or tenant


def consent_of(consents: ConsentStore, said: str | None, tenant: TenantId) -> Consent:
    """What a voice is to rest on: a consent of this tenant's that is named, or the statement, given now.

    Raises the `Problem` that there is none, or that nothing has this id.
    """
    if not is_consent(said):
        raise consent_missing()
    statement = (said or "").strip()
    if not statement.startswith(CONSENT_PREFIX):
        return Consent(statement, actor_of(tenant), round(time.time() * 1000))
    if not CONSENT_ID.fullmatch(statement):
        raise consent_unknown(statement)
    try:
        return cited(consents.get(tenant, ConsentId(statement)))
    except ConsentNotFound as error:
        raise consent_unknown(error.consent) from error


def cited(record: ConsentRecord) -> Consent:
    """The consent as a voice carries it."""
    return Consent(record.statement, record.actor, record.created_at_ms, (record.id,))


def consent_unknown(consent: str) -> Problem:
    return invalid_field("/consent", "not_found", f"there is no consent {consent[:64]!r}")
