"""`GET /readyz`: whether a server accepts jobs, and whether workers get work."""

from __future__ import annotations

import httpx

from rhapsode.client.answer_limits import UNCOMPRESSED
from rhapsode.client.connection import PROXY_FREE
from rhapsode.client.sync.connections import bound_answer
from rhapsode.contract.health import Readiness
from rhapsode.errors import BadAnswer

PATIENCE_S = 2.0


def read_readiness(url: str) -> Readiness | None:
    """At once and without a key; None if no server answers as Rhapsode does."""
    try:
        hooks = {"response": [bound_answer]}
        with httpx.Client(headers=UNCOMPRESSED, mounts=PROXY_FREE, timeout=PATIENCE_S, event_hooks=hooks) as client:
            # A server that is not ready says so with 503 and the same body.
            return Readiness.model_validate_json(client.get(f"{url.rstrip('/')}/readyz").content)
    except (httpx.TransportError, ValueError, BadAnswer):
        return None
