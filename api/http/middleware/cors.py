"""Pages of other origins may speak to the API if the operator names their origins; none may by default.

Keys are sent in a header of the page's own, never by the browser on its own: credentials are not allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

EVERY_ORIGIN = "*"

SENT = (
    *("Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "Last-Event-ID", "Prefer"),
    *("X-Request-ID", "traceparent"),
)
"""Header fields that a page may send beyond those that any may."""

SHOWN = (
    *("ETag", "Idempotency-Replayed", "Location", "Preference-Applied", "RateLimit", "RateLimit-Policy"),
    *("Retry-After", "X-Audio-Partial", "X-Ignored", "X-Job-Id", "X-Request-ID", "X-Segments-Missing"),
)
"""Header fields of answers that a page may read beyond those that any may."""

PREFLIGHT_S = 600


def parse_origins(text: str) -> tuple[str, ...]:
    """Comma-separated, as browsers spell them. Raises `ValueError`."""
    origins = tuple(part.strip() for part in text.split(",") if part.strip())
    for origin in origins:
        parts = urlsplit(origin)
        is_one = parts.scheme in ("http", "https") and parts.netloc and origin == f"{parts.scheme}://{parts.netloc}"
        if origin != EVERY_ORIGIN and not is_one:
            raise ValueError(f"{origin!r} is no origin: https://host or https://host:port, without a path")
    return origins


def admit_origins(app: FastAPI, origins: Sequence[str]) -> None:
    """Nothing is added where none is named."""
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"),
            allow_headers=SENT,
            expose_headers=SHOWN,
            max_age=PREFLIGHT_S,
        )
