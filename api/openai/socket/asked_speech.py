"""The fields of a request on a socket, as an order that utterances are begun with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from anyio.to_thread import run_sync
from starlette.requests import HTTPConnection

from api.access.authentication import identify_again
from api.access.caller_key import caller_key
from api.http.parsing import parse_fields
from api.live.speech import LiveSpeech
from api.openai.leniency import Wish
from api.openai.live_orders import forget_brought, live_order
from api.openai.socket.actions import FoundVoice, Message
from api.openai.socket.utterance import SocketUtterance, SoundFormat, StreamedSound, WholeSound
from api.services.container import ApiServices
from api.voices.matching import choose_model
from rhapsode.contract.openai import SpeechOrder
from storage.ids import TenantId
from storage.live.orders import LiveOrder, LiveTextMode

OF_POST_ALONE = ("input", "input_format", "stream", "stream_format", "reuse")
"""Text comes in separate messages, and audio as a stream."""

ANY_TEXT = "1"
"""A placeholder for the unknown text: every model and language can speak it."""


@dataclass(frozen=True, slots=True)
class AskedSpeech:
    """order: without its text. key: the caller's, for its usage."""

    live: LiveSpeech
    tenant: TenantId
    key: str
    order: LiveOrder
    voice: FoundVoice
    make_sound: Callable[[], SoundFormat]

    def begin(self, text: str) -> SocketUtterance:
        return SocketUtterance(self.live, self.tenant, self.key, self.order, text, self.make_sound())


@dataclass(slots=True)
class Orders:
    """Of one connection. Each request after the first is authenticated and counted again."""

    connection: HTTPConnection
    services: ApiServices
    tenant: TenantId
    _is_first: bool = field(default=True, init=False)
    _order: LiveOrder | None = field(default=None, init=False)

    async def resolve(self, fields: Message, is_whole: bool) -> AskedSpeech:  # noqa: FBT001 - one of two shapes
        """Raises a `Problem` or a `StorageError`."""
        if not self._is_first:
            await identify_again(self.connection, self.services)
        self._is_first = False
        asked = _wish(fields)
        await self.forget()
        live, order, voice = await run_sync(_found, self.services, self.tenant, asked)
        self._order = live

        def make_sound() -> SoundFormat:
            kind = WholeSound if is_whole else StreamedSound
            return kind(order.response_format, voice.sample_rate_hz, order.speed, self.services.live.encoders)

        return AskedSpeech(self.services.live.speech, self.tenant, caller_key(), live, voice, make_sound)

    async def forget(self) -> None:
        """Remove the voice of the last request. Raises `StoreUnavailable`."""
        order, self._order = self._order, None
        if order is not None and order.own_voice is not None:
            await run_sync(forget_brought, self.services, order)


def _wish(fields: Message) -> Wish:
    """Raises a `Problem`."""
    strange = {name: value for name, value in fields.items() if name in OF_POST_ALONE}
    given = {name: value for name, value in fields.items() if name not in strange}
    order = parse_fields(SpeechOrder, {**given, "input": ANY_TEXT, "stream": True})
    extra = order.model_extra or {}
    extra.update(strange)
    return Wish(order, tuple(extra))


def _found(services: ApiServices, tenant: TenantId, asked: Wish) -> tuple[LiveOrder, SpeechOrder, FoundVoice]:
    live, wish = live_order(services, tenant, asked, LiveTextMode.PER_FRAME)
    said = live.narration
    card = choose_model(said.model, services.models.list())
    return live, wish.order, FoundVoice(said.model, said.voice, card.sample_rate_hz, wish.ignored)
