"""`POST /v1/audio/speech` with the whole text, and its audio while it comes: what servers of OpenAI's shape share."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping

from pydantic import JsonValue

from rhapsode.bench.server.listening.ear import Ear
from rhapsode.bench.server.orders import Order, Speaking, Task
from rhapsode.bench.server.targets.audio_answers import check_is_bare, is_wav, read_rate
from rhapsode.bench.server.targets.target import authorization
from rhapsode.bench.server.wire.http import Answer, connected, read_origin

PATH = "/v1/audio/speech"


class HttpSpeech(ABC):
    """A kind of server says what its request has in it. The answer is bare samples, or a WAV of them.

    rate_hz: of them, where that is known of its kind; else the answer's headers say it.
    """

    tasks: frozenset[Task] = frozenset({Task.CUSTOM_VOICE})
    frame_s: float | None = None
    rate_hz: int | None = None

    def __init__(self, speaking: Speaking) -> None:
        self.speaking = speaking
        self._origin = read_origin(speaking.url)
        self._headers = {"Content-Type": "application/json", **authorization(speaking)}

    @abstractmethod
    def fields(self, order: Order) -> Mapping[str, JsonValue]:
        """Of the request; the parameters that the caller named go before them."""

    async def speak(self, order: Order, ear: Ear) -> None:
        body = json.dumps({**self.fields(order), **self.speaking.parameters}).encode()
        async with connected(self._origin) as connection:
            ear.sent()
            answer = await connection.ask("POST", PATH, self._headers, body)
            if not answer.is_success:
                raise await connection.refused(answer)
            self._form(answer, ear)
            async for piece in connection.pieces():
                ear.hear(piece)
        ear.end()

    def _form(self, answer: Answer, ear: Ear) -> None:
        if is_wav(answer.headers):
            ear.wav_form()
            return
        check_is_bare(answer.headers)
        ear.form(self.rate_hz or read_rate(answer.headers))
