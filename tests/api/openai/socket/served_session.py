"""A session on a real socket of a real server. What speaks is this file: a text's bytes are its audio."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import uvicorn
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from api.openai.socket.actions import FoundVoice, Message, OnAudio, OnStart, ProtocolMachine, UtteranceOutcome
from api.openai.socket.nari import NariMachine
from api.openai.socket.session import ResolvedSpeech, Session
from api.openai.socket.waits import MessageTimeouts
from api.server import server_config
from api.settings import ApiSettings
from rhapsode.contract.speech_socket import NARI, SOCKET_PATH


@dataclass
class Spoken:
    """What an utterance was told, and what became of it. hold: it is not begun before this is set."""

    text: str
    hold: asyncio.Event
    pieces: asyncio.Queue[tuple[str, bool]] = field(default_factory=asyncio.Queue[tuple[str, bool]])
    end: str = ""

    def extend(self, text: str, *, is_last: bool) -> None:
        self.pieces.put_nowait((text, is_last))

    async def speak(self, on_start: OnStart, on_audio: OnAudio) -> UtteranceOutcome:
        self.end = "cancelled"
        await self.hold.wait()
        await on_start("live_1")
        await on_audio(self.text.encode())
        is_last = False
        while not is_last:
            text, is_last = await self.pieces.get()
            self.text += text
            if text:
                await on_audio(text.encode())
        self.end = "done"
        return UtteranceOutcome((), len(self.text), 1.0)


class Voices:
    """Who is asked for, and every utterance that was begun."""

    def __init__(self) -> None:
        self.voice = FoundVoice("small", "Ryan", 24_000)
        self.asked: list[Message] = []
        self.spoken: list[Spoken] = []
        self.hold = asyncio.Event()
        self.hold.set()

    async def resolve(self, fields: Message, is_whole: bool) -> ResolvedSpeech:
        self.asked.append({**fields, "is_whole": is_whole})
        return ResolvedSpeech(self.voice, self.begin)

    def begin(self, text: str) -> Spoken:
        self.spoken.append(Spoken(text, self.hold))
        return self.spoken[-1]


@asynccontextmanager
async def served(
    voices: Voices,
    patience: MessageTimeouts | None = None,
    make_machine: Callable[[], ProtocolMachine] = lambda: NariMachine(24_000),
    subprotocol: str | None = NARI,
) -> AsyncGenerator[str]:
    """Yields the address."""

    async def serve(websocket: WebSocket) -> None:
        await websocket.accept(subprotocol)
        await Session(websocket, make_machine(), voices.resolve, patience or MessageTimeouts()).run()

    app = Starlette(routes=[WebSocketRoute(SOCKET_PATH, serve)])
    settings = ApiSettings(store="file:///nowhere", url_secret=SecretStr("a-secret-for-tests-only"))
    server = uvicorn.Server(server_config(app, settings, log_level="warning", lifespan="off"))
    listener = socket.create_server(("127.0.0.1", 0))
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"ws://127.0.0.1:{listener.getsockname()[1]}{SOCKET_PATH}"
    finally:
        server.should_exit = True
        await running
        listener.close()
