"""A call of OpenAI's shape as a live stream: every name looked up as of a job, and nothing left of one."""

from __future__ import annotations

from collections.abc import Sequence

from api.http.problems.problem import HttpProblem
from api.jobs.submission.decision import decide
from api.jobs.submission.facts import look_up
from api.jobs.submission.storing import prepare_voice
from api.openai.leniency import Wish, naming_sampling, without_what_cannot_be
from api.openai.orders import job_request, said_otherwise
from api.openai.spoken_names import spoken_names
from api.services.container import ApiServices
from api.voices.consent import with_consent
from rhapsode.contract.openai import SpeechOrder
from storage.ids import TenantId, VoiceId, new_job_id
from storage.live.orders import LiveOrder, LiveTextMode
from storage.queue.model_registry import ModelCard

_TEXT_MODES = {True: LiveTextMode.WHOLE, False: LiveTextMode.PER_FRAME}


def live_order(services: ApiServices, tenant: TenantId, asked: Wish, usual: LiveTextMode) -> tuple[LiveOrder, Wish]:
    """And what it came to. In a thread of a request. A voice that comes along is stored: `forget_brought` afterwards.

    usual: the mode where the order does not say which.

    Raises a `HttpProblem` or a `StorageError`, as a job's submission does.
    """
    return without_what_cannot_be(services, asked, lambda wish: _live_order(services, tenant, wish, usual))


def _live_order(services: ApiServices, tenant: TenantId, wish: Wish, usual: LiveTextMode) -> tuple[LiveOrder, Wish]:
    services.live.speech.refuse_newcomers()
    order, cards = wish.order, _cards(services, wish.order)
    names = spoken_names(services, tenant, order, cards)
    request = with_consent(services.settings, job_request(order, names))
    try:
        resolved = decide(look_up(services.intake, tenant, request, new_job_id(), cards=cards))
        for voice in resolved.cast.voices:
            prepare_voice(services.intake, tenant, voice)
    except HttpProblem as problem:
        raise said_otherwise(problem) from problem
    spec = resolved.spec
    mode = usual if order.non_streaming_mode is None else _TEXT_MODES[order.non_streaming_mode]
    live = LiveOrder(tenant=tenant, narration=spec.request, own_voice=spec.own_voice, text=order.input, text_mode=mode)
    return live, naming_sampling(wish, has_sampling=names.has_sampling)


def _cards(services: ApiServices, order: SpeechOrder) -> Sequence[ModelCard]:
    """The models are those that the workers of live speech were last seen with, and Redis is not asked for them; but
    for a name that was not there then."""
    recent = services.intake.recent_models.list()
    known = {card.name for card in recent}
    name = services.settings.aliases.model(order.model, known)
    is_known = bool(known) if name is None else name in known
    return recent if is_known else services.models.list()


def forget_brought(services: ApiServices, order: LiveOrder) -> None:
    """Remove the recording or embedding that came with the call. Raises `StoreUnavailable`."""
    if order.own_voice is not None and order.own_voice.voice == VoiceId(""):
        services.artifacts.delete(order.own_voice.source.key)
