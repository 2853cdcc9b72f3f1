"""The header `Idempotency-Key` and what a repeat is compared by."""

from __future__ import annotations

import hashlib

from api.http.problems.problem import invalid_header
from storage.jobs.submissions import IdempotencyKey

MAX_KEY_CHARS = 255


def idempotency_key(header: str | None, body: bytes, path: str = "/v1/jobs") -> IdempotencyKey | None:
    """Raises a `Problem` for a key that is empty, too long or not printable ASCII."""
    if header is None:
        return None
    if not 0 < len(header) <= MAX_KEY_CHARS or not (header.isascii() and header.isprintable()):
        detail = f"must be 1 to {MAX_KEY_CHARS} printable ASCII characters"
        raise invalid_header("Idempotency-Key", "invalid_key", detail)
    fingerprint = hashlib.sha256(f"POST {path}\n".encode() + body).hexdigest()
    return IdempotencyKey(header, fingerprint)
