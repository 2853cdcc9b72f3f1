"""What can be asked for."""

from __future__ import annotations

from fastapi import APIRouter

from api import schemas
from api.dependencies import Services, Tenant
from api.job_view import moment
from storage.models import ModelCard

router = APIRouter(prefix="/v1/models", tags=["models"])


@router.get("", response_model=schemas.ModelList)
def list_models(_: Tenant, services: Services) -> schemas.ModelList:
    """Every model that a worker announced; one that was seen long ago has no worker now."""
    return schemas.ModelList(data=[_shown(card) for card in services.models.list()])


def _shown(card: ModelCard) -> schemas.Model:
    return schemas.Model(
        name=card.name,
        revision=card.revision,
        task=card.task,
        speakers=list(card.speakers),
        languages=list(card.languages),
        default_language=card.default_language,
        sample_rate_hz=card.sample_rate_hz,
        samples_per_frame=card.samples_per_frame,
        num_codebooks=card.num_codebooks,
        max_text_tokens=card.max_text_tokens,
        notice=card.notice,
        seen_at=moment(card.updated_at_ms),
    )
