"""The statement that a speaker agrees to be cloned: what counts as one, and how it is kept."""

from __future__ import annotations

import time

from api.problems import consent_missing
from storage.jobs import TenantId
from storage.voices import Consent


def is_consent(statement: str | None) -> bool:
    """`false` said in a form is none."""
    return (statement or "").strip().casefold() not in {"", "false", "no", "0", "none", "null"}


def consent_of(statement: str | None, tenant: TenantId) -> Consent:
    """Given now, by whoever holds this tenant's key. Raises the `Problem` that there is none."""
    if not is_consent(statement):
        raise consent_missing()
    return Consent((statement or "").strip(), tenant, round(time.time() * 1000))
