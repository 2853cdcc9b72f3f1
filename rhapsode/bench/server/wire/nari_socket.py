"""An utterance over `nari.speech.v1`: word by word in, samples out.

The words go as the protocol's public benchmark sends them: one every 10 ms by the clock, each once the one before was
acknowledged.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, Field, JsonValue, ValidationError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidMessage, InvalidStatus, WebSocketException

from rhapsode.bench.server.listening.ear import Ear
from rhapsode.bench.server.wire.errors import NotHeard, Refused, Unreachable
from rhapsode.contract.speech_socket import NARI, SOCKET_PATH

WORD_EVERY_S = 0.01
_WORD = re.compile(r"\S+\s*")


def pieces_of(text: str) -> list[str]:
    """Words with the white space behind them; together they are the text."""
    first = _WORD.search(text)
    return _WORD.findall(text) if first is None or not first.start() else [text[: first.start()], *_WORD.findall(text)]


async def speak_over_socket(
    url: str, headers: Mapping[str, str], start: Mapping[str, JsonValue], text: str, ear: Ear
) -> None:
    """url: of the server, http or https. Time begins with the first word. Raises a RequestFailed."""
    address = re.sub("^http", "ws", url) + SOCKET_PATH
    try:
        async with connect(
            address,
            subprotocols=[NARI],  # pyright: ignore[reportArgumentType] - a NewType of theirs
            additional_headers=dict(headers),
            compression=None,
            max_size=None,
            proxy=None,
        ) as connection:
            await _Utterance(connection, ear).speak(start, pieces_of(text))
    except InvalidStatus as refusal:
        raise Refused(
            refusal.response.status_code, (refusal.response.body or b"").decode("utf-8", "replace")
        ) from refusal
    except (InvalidHandshake, InvalidMessage) as error:
        raise NotHeard(f"no WebSocket of {NARI}: {error}") from error
    except WebSocketException as error:
        raise Unreachable(f"the connection broke off: {error}") from error
    except OSError as error:
        raise Unreachable(error.strerror or str(error)) from error


class _Utterance:
    def __init__(self, connection: ClientConnection, ear: Ear) -> None:
        self._connection = connection
        self._ear = ear
        self._configured = asyncio.Event()
        self._acknowledged = asyncio.Semaphore(0)

    async def speak(self, start: Mapping[str, JsonValue], pieces: list[str]) -> None:
        await self._say({"type": "request.start", "response_format": "pcm", **start})
        writing = asyncio.create_task(self._write(pieces))
        try:
            await self._listen()
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)  # a connection that broke is told by who listens

    async def _write(self, pieces: list[str]) -> None:
        await self._configured.wait()
        loop = asyncio.get_running_loop()
        self._ear.sent()
        began_s = loop.time()
        for sequence, piece in enumerate(pieces):
            await asyncio.sleep(began_s + sequence * WORD_EVERY_S - loop.time())
            await self._say({"type": "input_text.append", "sequence": sequence, "text": piece})
            await self._acknowledged.acquire()
        await self._say({"type": "input_text.end", "sequence": len(pieces)})

    async def _listen(self) -> None:
        async for message in self._connection:
            if isinstance(message, bytes):
                self._ear.hear(message)
            elif self._is_last(_read_event(message)):
                return
        raise Unreachable("the connection was closed before the end of the speech")

    def _is_last(self, event: _Event) -> bool:
        if event.audio is not None:
            self._ear.form(event.audio.sample_rate)
        match event.type:
            case "request.configured":
                self._configured.set()
            case "input_text.ack":
                self._acknowledged.release()
            case "error":
                raise Refused(event.error.status, event.error.message)
            case _:
                pass  # what is told besides
        return event.type == "response.done"

    async def _say(self, message: Mapping[str, JsonValue]) -> None:
        await self._connection.send(json.dumps(message))


class _Audio(BaseModel):
    encoding: Literal["pcm_s16le"]
    sample_rate: int = Field(gt=0)
    channels: Literal[1]


class _Error(BaseModel):
    status: int = 500
    message: str = ""


class _Event(BaseModel):
    """Of every type: what is looked at."""

    type: str
    audio: _Audio | None = None
    error: _Error = _Error()


def _read_event(message: str) -> _Event:
    try:
        return _Event.model_validate_json(message)
    except ValidationError as error:
        raise NotHeard(f"no event of {NARI}: {message[:80]}") from error
