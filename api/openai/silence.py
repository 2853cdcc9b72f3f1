"""The answer to a text without a letter or digit, such as `...` or an emoji. Programs send a chat answer in pieces, and
one piece must not stop the others.
"""

from __future__ import annotations

from starlette.responses import Response

from api.openai.headers import MEDIA_TYPES, spoken_headers
from api.openai.leniency import Wish, ignored_header, named
from api.openai.spoken_names import spoken_names
from api.openai.streaming import EVENT_STREAM, delta_event, done_event
from api.services.container import ApiServices
from api.voices.matching import choose_model
from rhapsode.contract.openai import SpeechFormat, SpeechOrder, SpokenUsage
from rhapsode.contract.words import is_speakable
from storage.audio.speech_encoding import speech_encoder
from storage.audio.wav import wav_header
from storage.ids import TenantId

SILENCE_S = 0.2


def is_silent(order: SpeechOrder) -> bool:
    """Whether there is a text and nothing in it to speak."""
    return bool(order.input.strip()) and not is_speakable(order.input)


def silent_answer(services: ApiServices, tenant: TenantId, asked: Wish) -> Response:
    """Raises a `HttpProblem` or a `StorageError`."""
    order, wish = asked.order, Wish(asked.order, ("input", *asked.ignored))
    audio, headers = spoken_silence(services, tenant, order)
    headers |= ignored_header(named(wish.ignored))
    if order.stream_format != "sse":
        return Response(audio, 200, headers, MEDIA_TYPES[order.response_format])
    events = delta_event(wish, audio) + done_event(wish, SpokenUsage.of(0, SILENCE_S), ())
    return Response(events, 200, headers, EVENT_STREAM)


def spoken_silence(services: ApiServices, tenant: TenantId, order: SpeechOrder) -> tuple[bytes, dict[str, str]]:
    """Audio, and headers that say whose. Names are checked as of every call."""
    cards = services.models.list()
    names = spoken_names(services, tenant, order, cards)
    rate_hz = choose_model(names.model, cards).sample_rate_hz
    headers = {"X-Sample-Rate": str(rate_hz), **spoken_headers(names.model, names.voice or "")}
    return _silence(order.response_format, rate_hz), headers


def _silence(form: SpeechFormat, rate_hz: int) -> bytes:
    num_samples = round(SILENCE_S * rate_hz)
    if form == "wav":
        return wav_header(num_samples, rate_hz) + bytes(2 * num_samples)
    encoder = speech_encoder(form, rate_hz)
    return encoder.add(bytes(2 * num_samples)) + encoder.finish()
