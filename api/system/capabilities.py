"""What this system understands and makes, as data, so that no client has to try."""

from __future__ import annotations

from fastapi import APIRouter

from api.dependencies import Services, Tenant
from api.services.container import ApiServices
from api.settings import MAX_DOCUMENT_BYTES
from reading.estimates import MAX_AUDIO_MS
from reading.languages.names import LANGUAGE_NAMES, NORMALIZED_LANGUAGES
from reading.script.ssml_subset import ssml_capability
from rhapsode.contract.capabilities import (
    Capabilities,
    FormatCapability,
    InputCapabilities,
    LimitCapabilities,
    NormalizationCapability,
    PresetCapability,
)
from rhapsode.contract.jobs.input import (
    MAX_DICTIONARIES,
    MAX_ENTRIES,
    MAX_PAUSE_S,
    MAX_SPEAKERS,
    DocumentFormat,
    Normalization,
    SourceType,
)
from rhapsode.contract.jobs.output import AudioFormat
from rhapsode.contract.jobs.presets import PRESETS
from storage.narration.audio_formats import FORMATS
from storage.queue.model_registry import served_models

router = APIRouter(prefix="/v1/capabilities", tags=["capabilities"])


@router.get("", response_model=Capabilities)
def get_capabilities(tenant: Tenant, services: Services) -> Capabilities:
    """Inputs, what is read of SSML, output formats, limits, and the languages of the models that are served now."""
    served = served_models(services.models.list())
    return Capabilities(
        input=InputCapabilities(
            types=tuple(source.value for source in SourceType),
            document_formats=tuple(each.value for each in DocumentFormat),
        ),
        ssml=ssml_capability(),
        output_formats=tuple(_format(name) for name in FORMATS),
        presets=tuple(PresetCapability(name=name.value, output=dict(each.output)) for name, each in PRESETS.items()),
        normalization=(
            NormalizationCapability(name=Normalization.OFF.value, languages=()),
            NormalizationCapability(name=Normalization.BASIC.value, languages=tuple(NORMALIZED_LANGUAGES)),
        ),
        languages=tuple(sorted({language for card in served for language in card.languages})),
        language_tags=LANGUAGE_NAMES,
        limits=_limits(services),
    )


def _format(name: AudioFormat) -> FormatCapability:
    facts = FORMATS[name]
    return FormatCapability(
        type=name.value,
        content_type=facts.content_type,
        sample_rates_hz=tuple(facts.sample_rates_hz),
        default_bitrate_kbps=facts.default_bitrate_kbps,
        has_chapters=facts.has_chapters,
        has_tags=facts.has_tags,
    )


def _limits(services: ApiServices) -> LimitCapabilities:
    settings = services.settings
    return LimitCapabilities(
        audio_s=MAX_AUDIO_MS / 1000,
        text_chars=settings.max_text_chars,
        body_bytes=services.limits.body_bytes,
        document_bytes=min(MAX_DOCUMENT_BYTES, settings.max_upload_bytes),
        upload_bytes=settings.max_upload_bytes,
        segments=MAX_ENTRIES,
        speakers=MAX_SPEAKERS,
        pronunciation_dictionaries=MAX_DICTIONARIES,
        pause_s=MAX_PAUSE_S,
    )
