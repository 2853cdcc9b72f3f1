"""What a request asks of its segments' quality, checked against what the model's workers can judge. Pure."""

from __future__ import annotations

from api.http.problems.problem import invalid_field
from rhapsode.contract.jobs.quality import Gate, Quality
from storage.queue.model_registry import ModelCard


def refuse_quality(wanted: Quality, language: str, card: ModelCard) -> None:
    """Raises a `Problem` for a gate that no worker of this model can apply. No weaker gate replaces it later.
    `language` is resolved, maybe "auto".
    """
    if wanted.gate is not Gate.ASR:
        return
    recognised = card.recognised_languages
    if not recognised:
        detail = f"no worker of {card.name} has a recogniser; use the gate `basic`, or install one with the workers"
        raise invalid_field("/quality/gate", "not_supported", detail)
    spoken = card.languages if language == "auto" else (language,)
    if not set(spoken) <= set(recognised):
        named = "name the `language` of the text" if language == "auto" else f"{language} cannot be read back"
        detail = f"{card.name} has a recogniser for {', '.join(recognised)} only: {named}"
        raise invalid_field("/quality/gate", "not_supported", detail)
