"""What has to be looked up before a request can be decided on: nothing here refuses more than what there is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from api.http.problems.problem import invalid_field
from api.jobs.submission.brought_voice import brought_model, recording_mode
from api.jobs.submission.cast import Role, has_voice, lead_of, roles_of, usual_model
from api.jobs.submission.dictionaries import TakenDictionary, find_dictionary
from api.jobs.submission.input import UPLOAD_POINTER, PreparedInput, prepare_input, refuse_cast
from api.jobs.submission.reference_audio import Reference, read_reference
from api.services.intake import JobIntake
from api.settings import MAX_DOCUMENT_BYTES
from api.uploads.named import find_named_upload
from api.voices.matching import OwnVoice, find_own_voice, own_voice_or_why
from api.webhooks.job_webhook import choose_webhook
from rhapsode.contract.jobs.request import JobRequest
from storage.ids import JobId, TenantId
from storage.jobs.webhook_target import WebhookTarget
from storage.objects.keys import reference_recording
from storage.queue.model_registry import ModelCard, served_models
from storage.voices.store import VoiceStore


@dataclass(frozen=True, slots=True)
class Facts:
    """Whose job it is, and everything about its request that the request does not say.

    request: with its model and voice for the names that stand for them, such as OpenAI's `tts-1` and `alloy`. card: of
    `model_of`; cards: of all models. voices: the caller's own among the names of the request. recording: the one that
    came along.
    """

    request: JobRequest
    tenant: TenantId
    job: JobId
    prepared: PreparedInput
    roles: Sequence[Role]
    card: ModelCard
    cards: Sequence[ModelCard]
    voices: Mapping[str, OwnVoice]
    dictionaries: Sequence[TakenDictionary] = ()
    webhook: WebhookTarget | None = None
    recording: Reference | None = None


def look_up(
    intake: JobIntake,
    tenant: TenantId,
    request: JobRequest,
    job: JobId,
    api_url: str = "",
    cards: Sequence[ModelCard] | None = None,
) -> Facts:
    """api_url: for links in webhooks. cards: where they are known. Raises a `Problem` or a `StorageError`."""
    webhook = request.webhook and choose_webhook(intake.webhooks, tenant, request.webhook, api_url)
    dictionaries = [
        find_dictionary(intake.pronunciations, tenant, reference, index)
        for index, reference in enumerate(request.pronunciation_dictionaries)
    ]
    document, upload_bytes = request.input.document, 0
    if document is not None:
        upload_bytes = find_named_upload(
            intake.artifacts, tenant, document.upload_id, UPLOAD_POINTER, MAX_DOCUMENT_BYTES
        ).bytes
    if request.input.find_speakers and not request.validate_only:
        detail = "proposes speakers for a plan alone; send `validate_only`, then `lines`"
        raise invalid_field("/input/find_speakers", "not_allowed", detail)
    prepared = prepare_input(request.input, intake.settings.max_text_chars, upload_bytes)
    if request.speakers and document is not None and not request.input.lines:
        refuse_cast(document)
    roles = roles_of(request, prepared)
    cards = intake.models.list() if cards is None else cards
    model = intake.settings.aliases.model(request.model, [card.name for card in cards])
    request = request.model_copy(update={"model": model})
    card, recording = model_of(request, tenant, roles, cards), None
    if not request.brings_voice and (meant := _aliases(intake, tenant, request, roles, card)):
        request = request.model_copy(update={"voice": meant.get(request.voice or "", request.voice)})
        roles = tuple(replace(role, voice=meant.get(role.voice, role.voice)) for role in roles)
        card = model_of(request, tenant, roles, cards)
    if request.ref_audio is not None:
        # Everything that can be refused without the recording is refused before it is fetched.
        recording_mode(request, card)
        key = reference_recording(tenant, job)
        recording = read_reference(intake.artifacts, intake.recordings, tenant, request.ref_audio, key, "/ref_audio")
    voices = dict(_own_voices(intake.voices, tenant, request, roles, card, cards))
    return Facts(request, tenant, job, prepared, roles, card, cards, voices, dictionaries, webhook, recording)


def _aliases(
    intake: JobIntake, tenant: TenantId, request: JobRequest, roles: Sequence[Role], card: ModelCard
) -> dict[str, str]:
    """Names that neither the model nor the caller has, as `POST /v1/audio/speech` understands them."""
    found: dict[str, str] = {}
    for name in {request.voice or "", *(role.voice for role in roles)}:
        meant = intake.settings.aliases.voice(name, card.speakers)
        is_own = meant in (None, name) or has_voice(card, name) or find_own_voice(intake.voices, tenant, name)
        if meant is not None and not is_own:
            found[name] = meant
    return found


def model_of(request: JobRequest, tenant: TenantId, roles: Sequence[Role], cards: Sequence[ModelCard]) -> ModelCard:
    """The model, before the caller's own voices are looked up. Raises a `Problem`."""
    if request.brings_voice:
        return brought_model(request, tenant, cards)
    return usual_model(request, lead_of(request, roles), cards)


def _own_voices(
    voices: VoiceStore,
    tenant: TenantId,
    request: JobRequest,
    roles: Sequence[Role],
    card: ModelCard,
    cards: Sequence[ModelCard],
) -> Iterator[tuple[str, OwnVoice]]:
    """Each name is looked up once, and none that the model speaks with itself."""
    lead, models = lead_of(request, roles), [card]
    if request.model is None and not request.brings_voice and lead is not None and not has_voice(card, lead):
        # With a voice of the caller's, another model may be the one that fits.
        models += served_models(cards)
    names = [role.voice for role in roles] if lead is None else [lead, *(role.voice for role in roles)]
    for name in dict.fromkeys(names):
        if not all(has_voice(each, name) for each in models) and (own := own_voice_or_why(voices, tenant, name)):
            yield name, own
