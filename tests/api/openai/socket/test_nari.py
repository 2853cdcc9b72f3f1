"""The public benchmark's protocol, as a machine: what it says and wants done, without a socket."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.json_body import parse_json
from api.http.problems.problem import HttpProblem, connection_expired, problem
from api.live.errors import server_stopping
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
from api.openai.socket.nari import NariMachine
from tests.api.openai.socket.pieces import cut, cuts

RYAN = FoundVoice("small", "Ryan", 24_000)
AUDIO = {"encoding": "pcm_s16le", "sample_rate": 24_000, "channels": 1}
START: Message = {"type": "request.start", "model": "small", "voice": "Ryan", "language": "English"}
TEXTS = st.text(st.sampled_from(list("ab .\n😀字")), min_size=1, max_size=40).map(lambda text: f"{text}z")


def append(sequence: int, text: str) -> Message:
    return {"type": "input_text.append", "sequence": sequence, "text": text}


def end(sequence: int) -> Message:
    return {"type": "input_text.end", "sequence": sequence}


def ready(**start: bool) -> NariMachine:
    machine = NariMachine(24_000)
    machine.receive({**START, **start})
    machine.configured(RYAN)
    return machine


def told(actions: list[Action]) -> list[Message]:
    return [each.message for each in actions if isinstance(each, Send)]


def error_of(actions: list[Action]) -> tuple[object, int]:
    """The code of the only error, and what the connection is closed with."""
    [error] = [each["error"] for each in told(actions) if each["type"] == "error"]
    assert isinstance(error, dict)
    [close] = [each for each in actions if isinstance(each, Close)]
    return error["code"], close.code


def test_a_text_without_a_letter_is_done_at_once_and_the_conversation_goes_on() -> None:
    machine = ready(keep_open=True)
    assert [each["type"] for each in told(machine.receive(append(0, "... 🙂")))] == ["input_text.ack"]

    actions = machine.receive(end(1))

    assert not [each for each in actions if not isinstance(each, Send)]
    done = told(actions)[-1]
    assert (done["type"], done["stop_reason"], done["findings"]) == ("response.done", "stop", ["nothing_speakable"])
    assert (done["audio_chunks"], done["usage"]) == (0, {"input_chars": 0, "audio_s": 0.0})
    assert isinstance(machine.receive(START)[0], Configure)


def test_a_request_from_its_greeting_to_its_end() -> None:
    machine = NariMachine(24_000)

    assert told(machine.greet()) == [{"type": "session.created", "protocol": "nari.speech.v1", "audio": AUDIO}]
    assert machine.receive({**START, "temperature": 0.2}) == [
        Configure(
            {"model": "small", "voice": "Ryan", "language": "English", "temperature": 0.2, "response_format": "pcm"}
        )
    ]
    assert told(machine.configured(RYAN)) == [{"type": "request.configured", "model": "small", "voice": "Ryan"}]
    ack = {"type": "input_text.ack", "event": "input_text.append", "sequence": 0, "request_id": None}
    assert machine.receive(append(0, "One ")) == [Speak("One "), Send(ack)]
    assert told(machine.started("r")) == [{"type": "response.started", "request_id": "r", "audio": AUDIO}]
    assert machine.audio(b"12") == [SendAudio(b"12")]
    assert machine.receive(append(1, "two."))[0] == ExtendUtterance("two.", is_last=False)
    assert machine.receive(end(2)) == [
        ExtendUtterance("", is_last=True),
        Send({"type": "input_text.ack", "event": "input_text.end", "sequence": 2, "request_id": "r"}),
    ]
    assert machine.audio(b"34") == [SendAudio(b"34")]
    assert machine.done(UtteranceOutcome(("silence",), 8, 1.25)) == [
        Send(
            {
                "type": "response.done",
                "request_id": "r",
                "stop_reason": "stop",
                "audio_chunks": 2,
                "findings": ["silence"],
                "usage": {"input_chars": 8, "audio_s": 1.25},
            }
        ),
        Close(1000, "response.done"),
    ]


@given(TEXTS, cuts())
def test_pieces_of_any_shape_ask_for_the_same_speech(text: str, places: list[int]) -> None:
    machine = ready()
    pieces = cut(text, places)
    sent = [append(number, piece) for number, piece in enumerate(pieces)]
    # As they arrive: half a character can stand in JSON.
    came = [parse_json(json.dumps(message).encode()) for message in sent]
    actions = [each for message in came if isinstance(message, dict) for each in machine.receive(message)]
    actions += machine.receive(end(len(pieces)))

    asked = [each for each in actions if isinstance(each, Speak | ExtendUtterance)]
    assert "".join(each.text for each in asked) == text
    assert [isinstance(each, Speak) for each in asked] == [True, *(False for _ in asked[1:])]
    assert [each.is_last for each in asked if isinstance(each, ExtendUtterance)][-1] is True
    assert sum(each.is_last for each in asked if isinstance(each, ExtendUtterance)) == 1
    assert [each["sequence"] for each in told(actions)] == list(range(len(pieces) + 1))


def test_a_cancelled_request_ends_at_once() -> None:
    machine = ready()
    machine.receive(append(0, "One "))
    machine.started("r")
    machine.audio(b"12")

    stop, done, close = machine.receive({"type": "response.cancel"})

    assert (stop, close) == (Stop(), Close(1000, "response.done"))
    [message] = told([done])
    assert (message["stop_reason"], message["audio_chunks"]) == ("cancelled", 1)


def test_a_connection_that_is_kept_open_takes_one_request_after_the_other() -> None:
    machine = ready(keep_open=True)
    machine.receive(append(0, "One"))
    machine.receive(end(1))
    assert machine.puts_off(START)
    assert not machine.puts_off({"type": "response.cancel"})

    done = machine.done(UtteranceOutcome((), 3, 1.0))

    assert not any(isinstance(each, Close) for each in done)
    assert machine.waiting is AwaitedMessage.NEXT
    assert isinstance(machine.receive(START)[0], Configure)
    machine.configured(RYAN)
    # Its sequence begins anew.
    assert machine.receive(append(0, "Two"))[0] == Speak("Two")


def test_a_cancellation_that_comes_too_late_is_nothing_to_the_next_request() -> None:
    machine = ready(keep_open=True)
    machine.receive(append(0, "One"))
    machine.started("first")
    machine.receive(end(1))
    machine.done(UtteranceOutcome((), 3, 1.0))
    assert machine.receive({"type": "response.cancel"}) == []
    machine.receive(START)
    machine.configured(RYAN)
    machine.receive(append(0, "Two"))
    machine.started("second")

    assert machine.receive({"type": "response.cancel", "request_id": "first"}) == []
    assert machine.receive({"type": "response.cancel", "request_id": "second"})[0] == Stop()


def test_a_refused_request_leaves_a_connection_that_is_kept_open() -> None:
    machine = ready(keep_open=True)
    machine.receive(append(0, "One"))

    refused = machine.failed(problem("rate_limited", "full", retry_after_s=3))

    assert [each["type"] for each in told(refused)] == ["error"]
    assert told(refused)[0]["error"] == {
        "type": "invalid_request_error",
        "status": 429,
        "code": "rate_limited",
        "message": "full",
        "param": None,
        "retry_after_s": 3,
    }
    # What its sender had sent before they knew.
    assert machine.receive(append(1, "two")) == machine.receive(end(2)) == []
    assert isinstance(machine.receive(START)[0], Configure)


@pytest.mark.parametrize(
    ("messages", "code", "closes_with"),
    [
        ([append(0, "One")], "protocol_violated", 1008),
        ([START, START], "protocol_violated", 1008),
        ([{**START, "response_format": "mp3"}], "invalid_request", 1008),
        ([{**START, "keep_open": "yes"}], "invalid_request", 1008),
        ([START, append(1, "One")], "protocol_violated", 1008),
        ([START, append(0, "One"), append(0, "One")], "protocol_violated", 1008),
        ([START, {"type": "input_text.append", "sequence": 0}], "invalid_request", 1008),
        ([START, {"type": "input_text.append", "sequence": 0, "text": 7}], "invalid_request", 1008),
        ([START, {"type": "input_text.append", "sequence": True, "text": "a"}], "invalid_request", 1008),
        ([START, {**append(0, "a"), "voice": "x"}], "invalid_request", 1008),
        ([START, end(0)], "invalid_request", 1008),
        ([START, append(0, "a"), end(1), append(2, "b")], "protocol_violated", 1008),
        ([START, append(0, "a\x00")], "invalid_request", 1008),
        ([{"type": "response.cancel"}], "protocol_violated", 1008),
        ([{"type": "\ud800"}], "protocol_violated", 1008),
        ([{}], "protocol_violated", 1008),
    ],
)
def test_what_the_protocol_does_not_have_is_told_and_ends_the_connection(
    messages: list[Message], code: str, closes_with: int
) -> None:
    machine = NariMachine(24_000)
    actions: list[Action] = []
    for message in messages:
        actions = machine.receive(message)
        if isinstance(actions[0], Configure) and message is not messages[-1]:
            machine.configured(RYAN)

    assert error_of(actions) == (code, closes_with)
    json.dumps(told(actions)).encode()


@pytest.mark.parametrize(("status", "closes_with"), [(429, 1013), (503, 1013), (500, 1011), (404, 1008), (413, 1009)])
def test_the_closing_code_says_what_kind_of_refusal_it_was(status: int, closes_with: int) -> None:
    machine = NariMachine(24_000)
    machine.receive(START)

    actions = machine.refused(HttpProblem(status, "some_code", "Title", "ü" * 200))

    assert error_of(actions) == ("some_code", closes_with)
    [close] = [each for each in actions if isinstance(each, Close)]
    assert len(close.reason.encode()) <= 123


def test_a_writer_who_falls_silent_gives_the_place_back() -> None:
    machine = ready(keep_open=True)
    machine.receive(append(0, "One"))
    assert machine.waiting is AwaitedMessage.TEXT

    actions = machine.timed_out()

    assert actions[0] == Stop()
    assert error_of(actions) == ("input_timeout", 1008)


STOPPING = server_stopping()


def test_a_connection_that_is_retired_ends_what_it_speaks_and_begins_nothing() -> None:
    machine = ready(keep_open=True)
    machine.receive(append(0, "One"))

    [notice] = told(machine.retire(STOPPING))

    assert (notice["type"], notice["code"]) == ("session.ending", "server_stopping")
    assert machine.receive(append(1, " two."))[0] == ExtendUtterance(" two.", is_last=False)
    machine.receive(end(2))
    assert not machine.puts_off(START)
    [refusal] = told(machine.receive(START))
    assert isinstance(refusal["error"], dict)
    assert (refusal["request_id"], refusal["error"]["code"]) == (None, "server_stopping")
    assert machine.receive(append(0, "Three.")) == machine.receive(end(1)) == []
    *_, done, close = machine.done(UtteranceOutcome((), 8, 1.0))
    assert isinstance(done, Send)
    assert done.message["stop_reason"] == "stop"
    assert isinstance(close, Close)
    assert close.code == 1012
    assert close.reason.startswith("server_stopping: ")


def test_the_benchmarks_client_is_told_of_no_retirement_and_of_a_request_without_words_at_once() -> None:
    machine = ready()
    machine.receive(append(0, "One"))
    assert machine.retire(STOPPING) == []
    machine.receive(end(1))
    assert machine.done(UtteranceOutcome((), 3, 1.0))[-1] == Close(1000, "response.done")
    assert error_of(ready().retire(STOPPING)) == ("server_stopping", 1012)
    assert error_of(ready(keep_open=True).retire(STOPPING)) == ("server_stopping", 1012)
    [close] = NariMachine(24_000).retire(connection_expired(60))
    assert close == Close(1001, "connection_expired: a WebSocket stays open for 60 s; open another")


def test_a_connection_where_nothing_more_is_asked_for_is_closed_without_an_error() -> None:
    machine = ready(keep_open=True)
    machine.receive(append(0, "One"))
    machine.receive(end(1))
    machine.done(UtteranceOutcome((), 3, 1.0))

    assert machine.timed_out() == [Close(1000, "nothing was asked for")]
