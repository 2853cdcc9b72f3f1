"""Probes: is this process alive, and could it accept a job now."""

from __future__ import annotations

import asyncio
import logging
from typing import Literal

from anyio import move_on_after
from anyio.to_thread import current_default_thread_limiter, run_sync
from fastapi import APIRouter, Response

from api.dependencies import Services
from api.services.container import ApiServices
from rhapsode.contract import health as schemas
from storage.database.schema_version import StateUnusable, agree_on_layout
from storage.errors import StoreFull, StoreUnavailable
from storage.runtime.watched import tasks_down

logger = logging.getLogger(__name__)

router = APIRouter(tags=["health"])

POOL_WAIT_S = 1.0
"""A request that waits so long for a thread waits behind something that is stuck, or behind more than this process can
do: others should be sent elsewhere. Who asks for readiness waits two seconds and more."""

STORE_WAIT_S = 2.0
"""A store that takes so long to write nothing is not one to accept jobs with."""

_STORE_SILENT = "the object store does not answer"


@router.get("/livez", response_model=schemas.Health)
async def is_alive() -> schemas.Health:
    return schemas.Health()


@router.get("/health", response_model=schemas.Readiness, responses={503: {"model": schemas.Readiness}})
async def health(services: Services, response: Response) -> schemas.Readiness:
    """As `/readyz`, under the name that load balancers and clients of other speech servers ask for."""
    return await is_ready(services, response)


@router.get("/readyz", response_model=schemas.Readiness, responses={503: {"model": schemas.Readiness}})
async def is_ready(services: Services, response: Response) -> schemas.Readiness:
    """200 when Redis answers, the store can be written, requests find a thread and every background task runs.

    A model is not needed, but its name is listed.

    503 also after SIGTERM, while live streams continue.
    """
    threads = await _threads()
    store = await _store(services)
    # In threads that are kept for this: the others may be what is missing.
    readiness = await run_sync(_readiness, services, threads, store, limiter=services.operators.probes)
    response.status_code = 200 if readiness.status == "ready" else 503
    return readiness


async def _threads() -> str:
    """Why requests find no thread; empty if they find one. Reasons have no text of an error: it may have a secret."""
    with move_on_after(POOL_WAIT_S):
        await run_sync(lambda: None)
        await asyncio.to_thread(lambda: None)
        return ""
    logger.warning("every thread is taken", extra={"threads": int(current_default_thread_limiter().total_tokens)})
    return "all threads for requests are busy"


async def _store(services: ApiServices) -> str:
    with move_on_after(STORE_WAIT_S):
        return await run_sync(_checked, services, limiter=services.operators.probes, abandon_on_cancel=True)
    logger.warning("the store is unavailable", extra={"error": f"no answer within {STORE_WAIT_S:.0f} s"})
    return _STORE_SILENT


def _readiness(services: ApiServices, threads: str, store: str) -> schemas.Readiness:
    models, redis = _models(services)
    down = tasks_down()
    tasks = f"background tasks failed and will restart: {', '.join(down)}" if down else ""
    stop = "the server is shutting down" if services.live.speech.is_stopping else ""
    reasons = services.operators.outages.seen((redis, store, threads, tasks, stop))
    return schemas.Readiness(
        status="unavailable" if reasons else "ready",
        redis="unavailable" if redis else "ok",
        store="unavailable" if store else "ok",
        threads="busy" if threads else "ok",
        models=models,
        claims=None if redis else _claims(services),
        tasks_down=down,
        reasons=reasons,
    )


def _models(services: ApiServices) -> tuple[tuple[str, ...] | None, str]:
    """Names of the models, or why Redis cannot be used."""
    try:
        agree_on_layout(services.redis, services.settings.key_prefix)
        return tuple(card.name for card in services.models.list()), ""
    except (StoreUnavailable, StateUnusable) as error:
        logger.warning("redis is unavailable", extra={"error": str(error)})
        is_silent = isinstance(error, StoreUnavailable)
        return None, "Redis does not answer" if is_silent else "this release cannot use this Redis or its state"


def _claims(services: ApiServices) -> Literal["open", "held"] | None:
    """What is held is no reason to refuse jobs: they wait as they do for a worker."""
    try:
        return "open" if services.operators.guard.held() is None else "held"
    except StoreUnavailable as error:
        logger.warning("redis is unavailable", extra={"error": str(error)})
        return None


def _checked(services: ApiServices) -> str:
    try:
        services.artifacts.check()
    except StoreUnavailable as error:
        logger.warning("the store is unavailable", extra={"error": str(error)})
        return "the object store has too little free space" if isinstance(error, StoreFull) else _STORE_SILENT
    return ""
