"""vLLM-Omni's shape: a session's manner first, then text in pieces; `input.done` ends an utterance and not the session.

Its server waits for `input.done`, or the end of a sentence; here speech begins with the first words of an utterance,
which is reported as its only sentence.
"""

from __future__ import annotations

import enum

from pydantic import JsonValue

from api.http.parsing import parse_fields
from api.http.problems.problem import HttpProblem, input_timeout, problem
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
from rhapsode.contract.openai import MAX_INPUT_CHARS
from rhapsode.contract.speech_socket import (
    MAX_UTTERANCE_CHARS,
    InputCancel,
    InputDone,
    InputText,
    SessionClose,
    SessionManner,
)


class _State(enum.Enum):
    NEW = "new"
    READY = "ready"
    TAKING = "taking"
    """Text comes in."""
    ENDING = "ending"
    """The text is whole, its speech is not."""
    LOST = "lost"
    """The speech ended before its text, of which the rest is overlooked."""
    CLOSED = "closed"


_OF_THE_NEXT = ("session.config", "input.text", "input.done")
"""Messages of the utterance behind the one that is being spoken."""


class StreamingTextMachine:
    def __init__(self) -> None:
        self._state = _State.NEW
        self._manner = SessionManner(type="session.config")
        self._format = "wav"
        self._asked = (self._manner, self._format)
        self._utterance = 0
        self._rate_hz = 0
        self._notes: Message = {}
        self._retired: HttpProblem | None = None
        self._forget_utterance()

    def greet(self) -> list[Action]:
        return []

    @property
    def waiting(self) -> AwaitedMessage:
        match self._state:
            case _State.NEW:
                return AwaitedMessage.START
            case _State.READY:
                return AwaitedMessage.NEXT
            case _State.TAKING | _State.LOST:
                return AwaitedMessage.TEXT
            case _:
                return AwaitedMessage.SPEECH

    def puts_off(self, message: Message) -> bool:
        kind = message.get("type")
        is_refused = self._retired is not None and kind in _OF_THE_NEXT
        return self._state is _State.ENDING and kind != "input.cancel" and not is_refused

    def receive(self, message: Message) -> list[Action]:
        """An invalid message gets an error. After the configuration it is ignored, as in vLLM-Omni."""
        try:
            return self._received(message)
        except HttpProblem as problem:
            return self._fault(problem)

    def configured(self, voice: FoundVoice) -> list[Action]:
        self._rate_hz, self._notes = voice.sample_rate_hz, voice.notes
        self._manner, self._format = self._asked
        self._state = _State.READY
        self._forget_utterance()
        return []

    def refused(self, problem: HttpProblem) -> list[Action]:
        return self._fault(problem)

    def started(self, request_id: str) -> list[Action]:
        return []

    def audio(self, data: bytes) -> list[Action]:
        self._num_bytes += len(data)
        return [*self._audio_start(), SendAudio(data)]

    def done(self, outcome: UtteranceOutcome) -> list[Action]:
        findings: list[JsonValue] = list(outcome.findings)
        usage = dict(outcome.usage)
        return [*self._audio_start(), self._audio_done(is_error=False), *self._ended(findings=findings, usage=usage)]

    def failed(self, problem: HttpProblem) -> list[Action]:
        partial: Message = {"partial_audio": True, "action": "discard"} if self._num_bytes else {}
        error = Send({**self._error(problem).message, **partial})
        return [*self._audio_start(), error, self._audio_done(is_error=True), *self._ended()]

    def timed_out(self) -> list[Action]:
        if self.waiting is AwaitedMessage.NEXT:
            self._state = _State.CLOSED
            return [Close(NORMAL, "nothing was asked for")]
        return self.violated(input_timeout())

    def retire(self, problem: HttpProblem) -> list[Action]:
        self._retired = problem
        if self._state in (_State.NEW, _State.READY):
            self._state = _State.CLOSED
            return [goodbye(problem)]
        return [ending(problem)] if self._text.has_begun else self.violated(problem)

    def violated(self, problem: HttpProblem) -> list[Action]:
        self._state = _State.CLOSED
        return [Stop(), self._error(problem), goodbye(problem)]

    def _received(self, message: Message) -> list[Action]:
        kind = message.get("type")
        if self._state is _State.NEW and kind != "session.config":
            raise problem("protocol_violated", "the first message has to be a `session.config`, or a `request.start`")
        if self._retired is not None and self._state is _State.ENDING and kind in _OF_THE_NEXT:
            # The end of a text that was refused is no fault.
            return [] if kind == "input.done" else [self._error(self._retired)]
        match kind:
            case "session.config":
                return self._configure(message)
            case "input.text":
                return self._add(parse_fields(InputText, message).text)
            case "input.done":
                parse_fields(InputDone, message)
                return self._end()
            case "input.cancel":
                parse_fields(InputCancel, message)
                return self._cancel()
            case "session.close":
                parse_fields(SessionClose, message)
                self._state = _State.CLOSED
                return [Stop(), Close(NORMAL, "session.close")]
            case _:
                known = "session.config, input.text, input.done, input.cancel, session.close"
                raise problem("protocol_violated", f"{str(kind)[:64]!r} is no type of a message; there are: {known}")

    def _configure(self, message: Message) -> list[Action]:
        if self._state in (_State.TAKING, _State.LOST):
            raise problem("protocol_violated", "an utterance is under way; send input.done first")
        own = {name: value for name, value in message.items() if name in SessionManner.model_fields}
        manner = parse_fields(SessionManner, own)
        given = {name: value for name, value in message.items() if name not in own and value is not None}
        fields: dict[str, JsonValue] = {"response_format": "wav", **given}
        self._asked = (manner, str(fields["response_format"]))
        return [Configure(fields, is_whole=not manner.stream_audio)]

    def _add(self, piece: str) -> list[Action]:
        if self._state is _State.LOST:
            return []
        had_begun = self._text.has_begun
        try:
            text = self._text.add(piece)
        except HttpProblem as problem:
            # Without this piece the rest would be another text.
            self._state = _State.TAKING
            return [Stop(), *self.failed(problem)]
        self._state = _State.TAKING if self._text.num_chars else self._state
        if not text:
            return []
        self._spoken.append(text)
        return [ExtendUtterance(text, is_last=False) if had_begun else Speak(text)]

    def _end(self) -> list[Action]:
        if self._state is _State.LOST:
            return self._over(**self._last_words)
        try:
            rest = self._text.end()
        except HttpProblem as problem:
            self._state = _State.ENDING
            return [Stop(), *self.failed(problem)]
        if self._text.is_silent:
            return self._over(findings=[NOTHING_SPEAKABLE])
        if not self._text.has_begun:
            return self._over()
        self._spoken.append(rest)
        self._state = _State.ENDING
        return [ExtendUtterance(rest, is_last=True)]

    def _cancel(self) -> list[Action]:
        if self._state is _State.READY:
            # Sent before its sender knew that the utterance had ended.
            return []
        ends = [self._audio_done(is_error=False)] if self._is_audible and self._state is not _State.LOST else []
        return [Stop(), *ends, *self._over(cancelled=True)]

    def _fault(self, problem: HttpProblem) -> list[Action]:
        return self.violated(problem) if self._state is _State.NEW else [self._error(problem)]

    def _ended(self, **more: JsonValue) -> list[Action]:
        """Of the speech: the utterance is over when its text has ended too."""
        if self._state is _State.ENDING:
            return self._over(**more)
        self._state, self._last_words = _State.LOST, more
        return []

    def _over(self, **more: JsonValue) -> list[Action]:
        """The last event of an utterance."""
        head: Message = {"type": "session.done", "utterance_index": self._utterance}
        done = Send({**head, "total_sentences": 1 if self._text.has_begun else 0, **more})
        self._utterance += 1
        self._state = _State.READY
        self._forget_utterance()
        if self._retired is None:
            return [done]
        self._state = _State.CLOSED
        return [done, goodbye(self._retired)]

    def _forget_utterance(self) -> None:
        self._text = IncomingText(MAX_UTTERANCE_CHARS if self._manner.stream_audio else MAX_INPUT_CHARS)
        self._spoken: list[str] = []
        self._last_words: Message = {}
        self._is_audible = False
        self._num_bytes = 0

    def _audio_start(self) -> list[Action]:
        """Once, before the first audio or the end of what has none."""
        if self._is_audible:
            return []
        self._is_audible = True
        shape: Message = {"sample_rate": self._rate_hz, "channels": 1} if self._format == "pcm" else {}
        said: Message = {"sentence_text": "".join(self._spoken), "format": self._format, **shape, **self._notes}
        return [Send({"type": "audio.start", **self._place(), **said})]

    def _audio_done(self, *, is_error: bool) -> Send:
        return Send({"type": "audio.done", **self._place(), "total_bytes": self._num_bytes, "error": is_error})

    def _place(self) -> Message:
        return {"utterance_index": self._utterance, "sentence_index": 0}

    def _error(self, problem: HttpProblem) -> Send:
        fields = error_fields(problem)
        return Send({"type": "error", "message": fields["message"], "error": fields})
