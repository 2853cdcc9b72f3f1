"""Probes: is this process alive, and could it accept a job now."""

from __future__ import annotations

import logging
from typing import Literal

from fastapi import APIRouter, Response

from api.dependencies import Services
from api.schemas import job as schemas
from api.services.container import ApiServices
from storage.database.schema_version import LayoutMismatch, agree_on_layout
from storage.errors import StoreUnavailable

logger = logging.getLogger(__name__)

router = APIRouter(tags=["health"])


@router.head("/livez", include_in_schema=False)
@router.get("/livez", response_model=schemas.Health)
async def is_alive() -> schemas.Health:
    return schemas.Health()


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", response_model=schemas.Readiness, responses={503: {"model": schemas.Readiness}})
def is_ready(services: Services, response: Response) -> schemas.Readiness:
    """200 when Redis answers and the store can be written; a model is not needed for that, but told."""
    models = _models(services)
    store = _store(services)
    ready = models is not None and store == "ok"
    response.status_code = 200 if ready else 503
    return schemas.Readiness(
        status="ready" if ready else "unavailable",
        redis="unavailable" if models is None else "ok",
        store=store,
        models=models,
        claims=None if models is None else _claims(services),
    )


def _models(services: ApiServices) -> list[str] | None:
    try:
        agree_on_layout(services.redis, services.settings.key_prefix)
        return [card.name for card in services.models.list()]
    except (StoreUnavailable, LayoutMismatch) as error:
        logger.warning("redis is unavailable", extra={"error": str(error)})
        return None


def _claims(services: ApiServices) -> Literal["open", "held"] | None:
    """What is held is no reason to refuse jobs: they wait as they do for a worker."""
    try:
        return "open" if services.guard.held() is None else "held"
    except StoreUnavailable as error:
        logger.warning("redis is unavailable", extra={"error": str(error)})
        return None


def _store(services: ApiServices) -> Literal["ok", "unavailable"]:
    try:
        services.artifacts.check()
    except StoreUnavailable as error:
        logger.warning("the store is unavailable", extra={"error": str(error)})
        return "unavailable"
    return "ok"
