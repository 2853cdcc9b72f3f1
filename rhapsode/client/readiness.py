"""What `GET /readyz` says of a server: whether it could take a job now, and whether anybody is given work."""

from __future__ import annotations

import httpx

from rhapsode.client.connection import PROXY_FREE
from rhapsode.client.resources import Resource

PATIENCE_S = 2.0


class Readiness(Resource):
    """redis, store: `ok` or `unavailable`. threads: `ok`, or `busy` while requests wait for one.

    models: those that were announced.
    claims: `open`, or `held` while no worker is given anything; None if that is not known.
    """

    status: str
    redis: str = "ok"
    store: str = "ok"
    threads: str = "ok"
    models: tuple[str, ...] | None = None
    claims: str | None = None


def read_readiness(url: str) -> Readiness | None:
    """At once and without a key; None if no server answers as Rhapsode does."""
    try:
        with httpx.Client(mounts=PROXY_FREE, timeout=PATIENCE_S) as client:
            # A server that is not ready says so with 503 and the same body.
            return Readiness.model_validate_json(client.get(f"{url.rstrip('/')}/readyz").content)
    except (httpx.TransportError, ValueError):
        return None
