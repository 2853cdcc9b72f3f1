"""`nari.speech.v1`, as the public benchmark's client speaks it.

session.created <
                > request.start
request.configured <
                > input_text.append …      (each is acknowledged)
response.started, audio … <
                > input_text.end
audio …, response.done <
"""

from __future__ import annotations

import enum

from pydantic import JsonValue

from api.http.parsing import parse_fields
from api.http.problems.problem import HttpProblem, input_timeout, invalid_field, problem
from api.openai.socket.actions import (
    Action,
    AwaitedMessage,
    Close,
    Configure,
    ExtendUtterance,
    FoundVoice,
    Message,
    Send,
    SendAudio,
    Speak,
    Stop,
    UtteranceOutcome,
)
from api.openai.socket.incoming_text import NOTHING_SPEAKABLE, IncomingText
from api.openai.socket.refusals import NORMAL, ending, error_fields, goodbye
from rhapsode.contract.speech_socket import (
    MAX_UTTERANCE_CHARS,
    NARI,
    InputTextAppend,
    InputTextEnd,
    ResponseCancel,
    StartManner,
)


class _State(enum.Enum):
    IDLE = "idle"
    CONFIGURING = "configuring"
    TAKING = "taking"
    """Text comes in."""
    ENDING = "ending"
    """The text is whole, its speech is not."""
    CLOSED = "closed"


class NariMachine:
    def __init__(self, sample_rate_hz: int) -> None:
        """sample_rate_hz: of the model that speaks if none is named."""
        self._rate_hz = sample_rate_hz
        self._state = _State.IDLE
        self._keep_open = False
        self._is_first = True
        self._retired: HttpProblem | None = None
        self._forget_utterance()

    def greet(self) -> list[Action]:
        return [Send({"type": "session.created", "protocol": NARI, "audio": self._audio_shape()})]

    @property
    def waiting(self) -> AwaitedMessage:
        match self._state:
            case _State.TAKING:
                return AwaitedMessage.TEXT
            case _State.IDLE:
                return AwaitedMessage.START if self._is_first else AwaitedMessage.NEXT
            case _:
                return AwaitedMessage.SPEECH

    def puts_off(self, message: Message) -> bool:
        is_later = self._state is _State.ENDING and self._keep_open and self._retired is None
        return is_later and message.get("type") != "response.cancel"

    def receive(self, message: Message) -> list[Action]:
        try:
            return self._received(message)
        except HttpProblem as problem:
            return self.violated(problem)

    def configured(self, voice: FoundVoice) -> list[Action]:
        self._state = _State.TAKING
        self._rate_hz = voice.sample_rate_hz
        return [Send({"type": "request.configured", "model": voice.model, "voice": voice.voice, **voice.notes})]

    def refused(self, problem: HttpProblem) -> list[Action]:
        return [self._error(problem), *self._ended(goodbye(problem))]

    def started(self, request_id: str) -> list[Action]:
        self._request_id = request_id
        return [Send({"type": "response.started", "request_id": request_id, "audio": self._audio_shape()})]

    def audio(self, data: bytes) -> list[Action]:
        self._audio_messages += 1
        return [SendAudio(data)]

    def done(self, outcome: UtteranceOutcome) -> list[Action]:
        # Speech may end before its text: the gate stops endless speech.
        last = self._done("stop", list(outcome.findings), dict(outcome.usage))
        return [last, *self._ended(Close(NORMAL, "response.done"))]

    def failed(self, problem: HttpProblem) -> list[Action]:
        return [self._error(problem), *self._ended(goodbye(problem))]

    def timed_out(self) -> list[Action]:
        if self.waiting is AwaitedMessage.NEXT:
            self._state = _State.CLOSED
            return [Close(NORMAL, "nothing was asked for")]
        return self.violated(input_timeout())

    def retire(self, problem: HttpProblem) -> list[Action]:
        self._retired = problem
        if self._state is _State.IDLE:
            self._state = _State.CLOSED
            return [goodbye(problem)]
        if not self._text.has_begun:
            return self.violated(problem)
        # The benchmark's client takes no event that it does not know, and its connection ends with its request anyway.
        return [ending(problem)] if self._keep_open else []

    def violated(self, problem: HttpProblem) -> list[Action]:
        """However open it was to be kept: what comes next on this connection cannot be known."""
        self._keep_open = False
        return [Stop(), self._error(problem), *self._ended(goodbye(problem))]

    def _received(self, message: Message) -> list[Action]:
        match message.get("type"):
            case "input_text.append" | "input_text.end" if self._waiting_again:
                # Sent before its sender knew that the speech had ended: stopped by the gate, or failed.
                return []
            case "request.start" if self._refusal is not None:
                return [self._refusal]
            case "input_text.append" | "input_text.end" if self._refusal is not None:
                # Of the request that was refused.
                return []
            case "request.start":
                return self._start(message)
            case "input_text.append":
                return self._append(parse_fields(InputTextAppend, message))
            case "input_text.end":
                return self._end(parse_fields(InputTextEnd, message))
            case "response.cancel":
                return self._cancel(parse_fields(ResponseCancel, message))
            case kind:
                known = "request.start, input_text.append, input_text.end, response.cancel"
                raise problem("protocol_violated", f"{str(kind)[:64]!r} is no type of a message; there are: {known}")

    @property
    def _refusal(self) -> Send | None:
        """For a request that comes while the last one of this connection is spoken."""
        if self._retired is None or self._state is not _State.ENDING or not self._keep_open:
            return None
        return Send({**self._error(self._retired).message, "request_id": None})

    @property
    def _waiting_again(self) -> bool:
        return self._state is _State.IDLE and not self._is_first

    def _start(self, message: Message) -> list[Action]:
        self._require(_State.IDLE, "a request is under way")
        own = {name: value for name, value in message.items() if name in StartManner.model_fields}
        manner = parse_fields(StartManner, own)
        self._forget_utterance()
        self._keep_open = manner.keep_open
        self._state = _State.CONFIGURING
        fields = {name: value for name, value in message.items() if name not in own}
        return [Configure({**fields, "response_format": manner.response_format})]

    def _append(self, append: InputTextAppend) -> list[Action]:
        self._require(_State.TAKING, "no request takes text now")
        self._count(append.sequence)
        had_begun = self._text.has_begun
        text = self._text.add(append.text)
        onward = ExtendUtterance(text, is_last=False) if had_begun else Speak(text)
        return [*([onward] if text else []), self._ack(append.type, append.sequence)]

    def _end(self, end: InputTextEnd) -> list[Action]:
        self._require(_State.TAKING, "no request takes text now")
        self._count(end.sequence)
        rest = self._text.end()
        if self._text.is_silent:
            done = self._done("stop", [NOTHING_SPEAKABLE], dict(UtteranceOutcome((), 0, 0.0).usage))
            return [self._ack(end.type, end.sequence), done, *self._ended(Close(NORMAL, "response.done"))]
        if not self._text.has_begun:
            raise invalid_field("/text", "empty_text", "there is no text to speak")
        self._state = _State.ENDING
        return [ExtendUtterance(rest, is_last=True), self._ack(end.type, end.sequence)]

    def _cancel(self, cancel: ResponseCancel) -> list[Action]:
        if self._waiting_again or cancel.request_id not in (None, self._request_id):
            # Sent before its sender knew that the request had ended.
            return []
        if self._state not in (_State.TAKING, _State.ENDING):
            raise problem("protocol_violated", "there is no request to cancel")
        return [Stop(), self._done("cancelled", [], None), *self._ended(Close(NORMAL, "response.done"))]

    def _require(self, state: _State, otherwise: str) -> None:
        if self._state is not state:
            raise problem("protocol_violated", otherwise)

    def _count(self, sequence: int) -> None:
        if sequence != self._next_sequence:
            raise problem("protocol_violated", f"`sequence` is {sequence}, and {self._next_sequence} was to come")
        self._next_sequence += 1

    def _ended(self, farewell: Close) -> list[Action]:
        """After the last event of a request."""
        self._is_first = False
        if self._keep_open and self._retired is None:
            self._state = _State.IDLE
            return []
        self._state = _State.CLOSED
        return [goodbye(self._retired)] if self._keep_open and self._retired is not None else [farewell]

    def _forget_utterance(self) -> None:
        self._text = IncomingText(MAX_UTTERANCE_CHARS)
        self._request_id: str | None = None
        self._next_sequence = 0
        self._audio_messages = 0

    def _audio_shape(self) -> dict[str, JsonValue]:
        # Exactly these: the benchmark's client compares the whole.
        return {"encoding": "pcm_s16le", "sample_rate": self._rate_hz, "channels": 1}

    def _ack(self, event: str, sequence: int) -> Send:
        request_id = self._request_id
        return Send({"type": "input_text.ack", "event": event, "sequence": sequence, "request_id": request_id})

    def _done(self, stop_reason: str, findings: list[JsonValue], usage: dict[str, JsonValue] | None) -> Send:
        return Send(
            {
                "type": "response.done",
                "request_id": self._request_id,
                "stop_reason": stop_reason,
                "audio_chunks": self._audio_messages,
                "findings": findings,
                "usage": usage,
            }
        )

    def _error(self, problem: HttpProblem) -> Send:
        return Send({"type": "error", "request_id": self._request_id, "error": error_fields(problem)})
