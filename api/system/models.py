"""What can be asked for."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter

from api.dependencies import Services, Tenant
from api.http.problems.problem import problem
from api.http.times import moment
from rhapsode.contract import models as schemas
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
    more = {
        "id": card.name,
        "created": card.updated_at_ms // 1000,
        "text_front_end": "words" if card.text_front_end == "words" else "raw",
        "reproducibility": ("best_effort", "strict") if card.runs_strict else ("best_effort",),
        "available": available,
        "seen_at": moment(card.updated_at_ms),
    }
    return schemas.Model.model_validate(asdict(card) | more)
