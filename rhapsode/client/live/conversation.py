"""The client's side of `/v1/audio/speech/ws`: which messages it sends, what it makes of those it gets. No I/O.

session.created, then request.start and request.configured; the text goes as input_text.append and input_text.end, each
of which is acknowledged; the samples come in binary messages between response.started and response.done.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from rhapsode.client.live.chunks import AudioChunk, Samples, SpeechFacts, sample_rate
from rhapsode.client.plain_json import json_object
from rhapsode.client.refusals import PASSING
from rhapsode.client.request_options import StreamOptions
from rhapsode.contract.speech_socket import NARI
from rhapsode.errors import ApiError, BadAnswer, Problem, Violation, api_error

MAX_PIECE_CHARS = 4_096
"""A longer piece goes in several messages."""

MAX_MESSAGE_BYTES = 1 << 22
"""Of the server's; four megabytes are 87 s of speech."""

FORM = "pcm_s16le of 1"


class Conversation:
    """One utterance. `append` and `end` may be called beside `take` by another task, one of them at a time."""

    def __init__(self, options: StreamOptions, facts: SpeechFacts) -> None:
        self._options = options
        self._facts = facts
        self._samples: Samples | None = None
        self._sent = 0
        self.is_configured = False
        self.is_over = False

    def start(self) -> str:
        return json.dumps({"type": "request.start", "response_format": "pcm", **json_object(self._options)})

    def append(self, text: str) -> Iterator[str]:
        """The messages for a piece of the text; none for an empty one."""
        for begin in range(0, len(text), MAX_PIECE_CHARS):
            yield self._numbered("input_text.append", text=text[begin : begin + MAX_PIECE_CHARS])

    def end(self) -> str:
        return self._numbered("input_text.end")

    def take(self, message: str | bytes) -> AudioChunk | None:
        """The samples of a message, if it holds any. Raises `ApiError` for a refusal, `BadAnswer` for what is none."""
        if isinstance(message, bytes):
            return self._audio(message)
        try:
            event = _Event.model_validate_json(message)
        except ValidationError as error:
            raise BadAnswer(f"the server sent what is no event of {NARI}: {message[:200]!r}") from error
        match event.type:
            case "error":
                raise _refusal(event.error)
            case "session.created":
                self._open(event)
            case "request.configured":
                self.is_configured = True
                self._facts.model = event.model or self._facts.model
                self._facts.voice = event.voice or self._facts.voice
            case "response.started":
                self._open(event)
            case "response.done":
                self._facts.findings = event.findings
                self.is_over = True
            case _:
                # An acknowledgement, or what a newer server tells besides.
                pass
        return None

    def _open(self, event: _Event) -> None:
        if event.audio is None:
            return
        form = f"{event.audio.encoding} of {event.audio.channels}"
        if form != FORM:
            raise BadAnswer(f"the server streams {form} channels, not {FORM}")
        self._samples = Samples(sample_rate(event.audio.sample_rate))

    def _audio(self, message: bytes) -> AudioChunk | None:
        if self._samples is None:
            raise BadAnswer("the server sent samples before it said their rate")
        chunk = self._samples.take(message)
        return self._facts.take(chunk) if chunk else None

    def _numbered(self, kind: Literal["input_text.append", "input_text.end"], **more: str) -> str:
        sequence, self._sent = self._sent, self._sent + 1
        return json.dumps({"type": kind, "sequence": sequence, **more})


class _Audio(BaseModel):
    encoding: str
    sample_rate: int
    channels: int


class _Refusal(BaseModel):
    message: str
    status: int = 500
    code: str | None = None
    param: str | None = None
    retry_after_s: float | None = None


class _Event(BaseModel):
    """Of every type: what the client looks at."""

    model_config = ConfigDict(extra="ignore")

    type: str
    audio: _Audio | None = None
    model: str | None = None
    voice: str | None = None
    findings: tuple[str, ...] = ()
    error: JsonValue = None


def _refusal(document: JsonValue) -> ApiError:
    try:
        said = _Refusal.model_validate(document)
    except ValidationError:
        said = _Refusal(message=str(document)[:500])
    code = said.code or "unknown"
    violations = (Violation(said.param, code, said.message),) if said.param else ()
    problem = Problem(said.status, code, code, said.message, retryable=said.status in PASSING, violations=violations)
    return api_error(problem, said.retry_after_s)
