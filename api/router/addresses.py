"""What a request's address says about where it belongs. Pure: the path, the method, the query.

An id that carries its cell decides, wherever in the path it stands: also in the signed links of a folder store, whose
keys are made of ids.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs

from storage.ids import BATCH_ID, CELL_NAME, ULID_CHARS, cell_of

OWNED = "/v1/"
"""Where a request is some tenant's; what lies outside, as the page, any cell answers."""

ADMIN = "/v1/admin/"

_PLAIN = re.compile(
    r"(/v1/(?:jobs|batches|voices|consents|uploads|pronunciation-dictionaries|webhook-endpoints|webhook-deliveries)"
    rf"/(?:[a-z]{{2,3}}_[0-9a-hjkmnp-tv-z]{{{ULID_CHARS}}}|evt_[0-9a-f]{{40}}))(?:/.*)?"
)

_ANY_ID = re.compile(rf"[a-z]{{2,3}}_[0-9a-hjkmnp-tv-z]{{{ULID_CHARS}}}_{CELL_NAME.pattern}(?![a-z0-9_])")

_SPREADABLE = frozenset({"/v1/jobs", "/v1/audio/speech", "/v1/audio/speech/batch"})
"""New work that rests on nothing but what it says."""

_OF_ONE_CELL = re.compile(r"/v1/(?:webhook-secret|audio/voices)(?:/.*)?")
"""What a cell signs with and speaks with: another's is another."""


def cell_named(path: str, query: bytes) -> str | None:
    """The cell of the first id with one in the path, or of the batch that a list of jobs is asked for."""
    if path == "/v1/jobs":
        batch = parse_qs(query.decode("latin-1")).get("batch_id", [""])[0]
        return cell_of(batch) if BATCH_ID.fullmatch(batch) else None
    match = _ANY_ID.search(path)
    return cell_of(match[0]) if match else None


def plain_resource(path: str) -> str | None:
    """The address of the resource whose id has no cell, which has to be looked for; None if there is none."""
    match = _PLAIN.fullmatch(path)
    return match[1] if match else None


def can_be_spread(method: str, path: str) -> bool:
    """Whether any of a tenant's cells does: it reads, or is work that needs nothing that only one of them has."""
    if _OF_ONE_CELL.fullmatch(path):
        return False
    return method in {"GET", "HEAD", "OPTIONS"} or path in _SPREADABLE
