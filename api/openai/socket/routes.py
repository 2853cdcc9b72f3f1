"""`WS /v1/audio/speech/ws`: text in while it is written, speech out while it is made.

What is wrong with a handshake is answered over HTTP, as a POST would be, before there is a socket.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, WebSocket, WebSocketDisconnect
from starlette.requests import HTTPConnection
from starlette.responses import Response

from api.access.authentication import Caller, identify, identify_again
from api.access.caller_key import caller_key
from api.dependencies import Tenant
from api.http.json_body import parse_json
from api.http.middleware.request_boundary import request_id_of
from api.http.middleware.request_metrics import refused
from api.http.middleware.security_headers import HEADERS
from api.http.middleware.websockets import TENANT_FRAMES
from api.http.open_sockets import OpenSocket
from api.http.parsing import parse_fields
from api.http.problems.handlers import storage_problem
from api.http.problems.problem import HttpProblem, internal, invalid_header, problem_response, upgrade_required
from api.live.errors import server_stopping
from api.openai.leniency import Wish
from api.openai.live_orders import forget_brought, live_order
from api.openai.socket.actions import FoundVoice, Message, ProtocolMachine
from api.openai.socket.nari import NariMachine
from api.openai.socket.session import ResolvedSpeech, Session
from api.openai.socket.streaming_text import StreamingTextMachine
from api.openai.socket.utterance import SocketUtterance, StreamedSound, WholeSound
from api.openai.socket.waits import MessageTimeouts
from api.services.container import ApiServices
from api.voices.matching import choose_model
from rhapsode.contract.openai import SpeechOrder
from rhapsode.contract.speech_socket import KEY_SUBPROTOCOL, NARI, PROTOCOLS, SOCKET_PATH, STREAMING_TEXT_PATH
from storage.errors import StorageError
from storage.ids import TenantId
from storage.live.orders import LiveOrder, LiveTextMode

logger = logging.getLogger(__name__)

router = APIRouter(tags=["audio"])


@router.get(SOCKET_PATH, status_code=101, response_class=Response, response_description="WebSocket is spoken from here")
async def open_speech_socket(request: Request, tenant: Tenant) -> Response:
    """WebSocket: send text while you write it, receive audio while it is generated.

    Subprotocols: `nari.speech.v1`, and `streaming-text.v1` for vLLM-Omni's clients. docs/reference/api.md has the
    messages. A browser sends its API key as a second subprotocol: `rhapsode.key.` and the key in base64url. The
    handshake fails with the errors of `POST /v1/audio/speech`. A GET without a handshake is 426.
    """
    raise upgrade_required()


@router.get(STREAMING_TEXT_PATH, include_in_schema=False)
async def open_streaming_text(request: Request, tenant: Tenant) -> Response:
    raise upgrade_required()


@router.websocket(SOCKET_PATH)
@router.websocket(STREAMING_TEXT_PATH)
async def speak_over_socket(socket: WebSocket) -> None:
    services: ApiServices = socket.app.state.services
    try:
        protocol = chosen_protocol(socket.scope["subprotocols"])
        caller = await identify(socket, services)
        with services.live.sockets.place(caller.tenant) as place:
            services.live.speech.refuse_newcomers()
            socket.scope["state"][TENANT_FRAMES] = place.frames
            rate_hz = await run_sync(lambda: choose_model(None, services.models.list()).sample_rate_hz)
            await socket.accept(protocol)
            await _serve(socket, services, caller, place, protocol, rate_hz)
    except HttpProblem as problem:
        await _deny(socket, problem)
    except StorageError as error:
        await _deny(socket, storage_problem(error) or internal())


async def _serve(
    socket: WebSocket, services: ApiServices, caller: Caller, place: OpenSocket, protocol: str | None, rate_hz: int
) -> None:
    """From here on, errors are messages on the socket."""
    patience = MessageTimeouts()
    try:
        async with asyncio.timeout(patience.start_s):
            first = await socket.receive_text() if protocol is None else None
    except (TimeoutError, KeyError):
        await socket.close(1008, "the first message has to be a `session.config` or a `request.start`")
        return
    except WebSocketDisconnect:
        return
    orders = Orders(socket, services, caller.tenant)
    try:
        session = Session(socket, _machine(protocol, first, rate_hz), orders.resolve, patience)
        place.when_stopped(lambda: session.retire(server_stopping()))
        await session.run(first)
    finally:
        await orders.forget()


def _machine(protocol: str | None, first: str | None, rate_hz: int) -> ProtocolMachine:
    if protocol == NARI or (first is not None and _begins_request(first)):
        return NariMachine(rate_hz)
    return StreamingTextMachine()


def _begins_request(first: str) -> bool:
    """What no subprotocol says, the first message does; one that cannot be read is refused by whichever it is."""
    try:
        message = parse_json(first.encode())
    except HttpProblem:
        return False
    return isinstance(message, dict) and message.get("type") == "request.start"


async def _deny(socket: WebSocket, problem: HttpProblem) -> None:
    refused(problem.status, problem.code)
    request_id = request_id_of(socket.scope)
    response = problem_response(problem, socket.url.path, request_id)
    response.headers.update({**HEADERS, "X-Request-ID": request_id})
    await socket.send_denial_response(response)


HEADER = "Sec-WebSocket-Protocol"


def chosen_protocol(offered: Sequence[str]) -> str | None:
    """The first that is spoken here; None if none was offered at all. Raises the `Problem` of none that is known."""
    names = [name for name in offered if not name.startswith(KEY_SUBPROTOCOL)]
    known = next((name for name in names if name in PROTOCOLS), None)
    if known is None and offered:
        # Browsers end a connection for which none of those that it offered was chosen.
        raise invalid_header(HEADER, "not_supported", f"offer one of: {', '.join(PROTOCOLS)}")
    return known


OF_POST_ALONE = ("input", "input_format", "stream", "stream_format", "reuse")
"""Text comes in separate messages, and audio as a stream."""

ANY_TEXT = "1"
"""A placeholder for the unknown text: every model and language can speak it."""


@dataclass(slots=True)
class Orders:
    """Of one connection. Each request after the first is authenticated and counted again."""

    connection: HTTPConnection
    services: ApiServices
    tenant: TenantId
    _is_first: bool = field(default=True, init=False)
    _order: LiveOrder | None = field(default=None, init=False)

    async def resolve(self, fields: Message, is_whole: bool) -> ResolvedSpeech:  # noqa: FBT001 - one of two shapes
        """Raises a `Problem` or a `StorageError`."""
        if not self._is_first:
            await identify_again(self.connection, self.services)
        self._is_first = False
        asked = _wish(fields)
        await self.forget()
        order, wanted, voice = await run_sync(_found, self.services, self.tenant, asked)
        self._order, live, key = order, self.services.live, caller_key()

        def begin(text: str) -> SocketUtterance:
            kind = WholeSound if is_whole else StreamedSound
            sound = kind(wanted.response_format, voice.sample_rate_hz, wanted.speed, live.encoders)
            return SocketUtterance(live.speech, self.tenant, key, order, text, sound)

        return ResolvedSpeech(voice, begin)

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
