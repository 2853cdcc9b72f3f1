"""What can be asked for."""

from __future__ import annotations

from fastapi import APIRouter

from api.dependencies import Services, Tenant
from api.http.problems.problem import problem
from api.http.times import moment
from rhapsode.contract import models as schemas
from rhapsode.contract.jobs.input import SegmentationMode
from storage.queue.model_registry import ModelCard, served_models

router = APIRouter(prefix="/v1/models", tags=["models"])


@router.get("", response_model=schemas.ModelList)
def list_models(_: Tenant, services: Services) -> schemas.ModelList:
    """Every model that a worker announced; one that is not available has no worker now."""
    cards = services.models.list()
    served = served_models(cards)
    return schemas.ModelList(data=tuple(_shown(card, available=card in served) for card in cards))


@router.get("/{model_name}", response_model=schemas.Model)
def get_model(_: Tenant, services: Services, model_name: str) -> schemas.Model:
    """One model, by its name or by one that speech takes for it; `name` says which it is."""
    cards = services.models.list()
    meant = services.settings.aliases.model(model_name, [card.name for card in cards])
    fitting = [card for card in cards if meant in (None, card.name)]
    card = max(fitting, key=lambda card: card.updated_at_ms, default=None)
    if card is None:
        known = ", ".join(each.name for each in cards) or "none"
        raise problem("not_found", f"there is no model {model_name[:64]!r}; there is: {known}")
    return _shown(card, available=card in served_models(cards))


def _shown(card: ModelCard, *, available: bool) -> schemas.Model:
    return schemas.Model(
        id=card.name,
        name=card.name,
        created=card.updated_at_ms // 1000,
        revision=card.revision,
        task=card.task,
        speakers=tuple(card.speakers),
        languages=tuple(card.languages),
        default_language=card.default_language,
        sample_rate_hz=card.sample_rate_hz,
        samples_per_frame=card.samples_per_frame,
        num_codebooks=card.num_codebooks,
        max_text_tokens=card.max_text_tokens,
        max_text_chars=card.max_text_chars,
        text_front_end="words" if card.text_front_end == "words" else "raw",
        segmentation=SegmentationMode(card.segmentation),
        accepts_instructions=card.accepts_instructions,
        speaker_dim=card.speaker_dim,
        reproducibility=("best_effort", "strict") if card.runs_strict else ("best_effort",),
        voice_modes=tuple(card.voice_modes),
        recognised_languages=tuple(card.recognised_languages),
        notice=card.notice,
        available=available,
        seen_at=moment(card.updated_at_ms),
    )
