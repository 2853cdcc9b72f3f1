"""vLLM-Omni's streaming text, as a machine: what it says and wants done, without a socket."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.problems.problem import problem
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
from api.openai.socket.streaming_text import StreamingTextMachine
from tests.api.openai.socket.pieces import cut, cuts

RYAN = FoundVoice("small", "Ryan", 24_000)
CONFIG: Message = {"type": "session.config", "voice": "Ryan", "response_format": "pcm", "stream_audio": True}
DONE: Message = {"type": "input.done"}
SPOKEN = UtteranceOutcome((), 3, 1.0)


def text(piece: str) -> Message:
    return {"type": "input.text", "text": piece}


def ready() -> StreamingTextMachine:
    machine = StreamingTextMachine()
    machine.receive(CONFIG)
    machine.configured(RYAN)
    return machine


def told(actions: list[Action]) -> list[Message]:
    return [each.message for each in actions if isinstance(each, Send)]


def kinds(actions: list[Action]) -> list[object]:
    return [each["type"] for each in told(actions)]


def test_utterances_one_after_the_other() -> None:
    machine = StreamingTextMachine()
    assert machine.greet() == []
    assert machine.receive(CONFIG) == [Configure({"voice": "Ryan", "response_format": "pcm"})]
    assert machine.configured(RYAN) == []

    for index in range(2):
        place = {"utterance_index": index, "sentence_index": 0}
        assert machine.receive(text("One ")) == [Speak("One ")]
        assert machine.receive(text("two.")) == [ExtendUtterance("two.", is_last=False)]
        assert machine.started("r") == []
        started = {"sentence_text": "One two.", "format": "pcm", "sample_rate": 24_000, "channels": 1}
        assert machine.audio(b"12") == [Send({"type": "audio.start", **place, **started}), SendAudio(b"12")]
        assert machine.receive(DONE) == [ExtendUtterance("", is_last=True)]
        assert machine.audio(b"34") == [SendAudio(b"34")]
        assert told(machine.done(SPOKEN)) == [
            {"type": "audio.done", **place, "total_bytes": 4, "error": False},
            {
                "type": "session.done",
                "utterance_index": index,
                "total_sentences": 1,
                "findings": [],
                "usage": {"input_chars": 3, "audio_s": 1.0},
            },
        ]


@given(st.text(st.sampled_from(list("ab .😀字")), max_size=30).map(lambda some: f"{some}z"), cuts())
def test_pieces_of_any_shape_ask_for_the_same_speech(spoken: str, places: list[int]) -> None:
    machine = ready()
    actions = [action for piece in cut(spoken, places) for action in machine.receive(text(piece))]
    actions += machine.receive(DONE)

    asked = [each for each in actions if isinstance(each, Speak | ExtendUtterance)]
    assert asked == actions
    assert "".join(each.text for each in asked) == spoken
    assert isinstance(asked[0], Speak)
    assert [each.is_last for each in asked[1:] if isinstance(each, ExtendUtterance)] == [
        *(False for _ in asked[2:]),
        True,
    ]


def test_without_stream_audio_the_audio_is_one_message_by_default_a_wav() -> None:
    machine = StreamingTextMachine()

    assert machine.receive({"type": "session.config", "speed": None}) == [
        Configure({"response_format": "wav"}, is_whole=True)
    ]


def test_an_utterance_without_text_has_no_sentence() -> None:
    machine = ready()
    machine.receive(text(" \n"))

    assert told(machine.receive(DONE)) == [{"type": "session.done", "utterance_index": 0, "total_sentences": 0}]


def test_a_session_keeps_its_manner_when_another_is_refused() -> None:
    machine = ready()

    assert kinds(machine.receive({"type": "session.config", "stream_audio": "no"})) == ["error"]
    assert isinstance(machine.receive({"type": "session.config"})[0], Configure)
    assert kinds(machine.refused(problem("rate_limited", "full", retry_after_s=1))) == ["error"]
    machine.receive(text("One"))
    assert told(machine.audio(b"12"))[0]["format"] == "pcm"


def test_a_manner_cannot_change_within_an_utterance() -> None:
    machine = ready()
    machine.receive(text("One"))

    assert kinds(machine.receive(CONFIG)) == ["error"]
    assert machine.receive(text(" two")) == [ExtendUtterance(" two", is_last=False)]


def test_the_text_of_an_utterance_whose_speech_failed_is_not_taken_for_the_next() -> None:
    machine = ready()
    machine.receive(text("One"))
    machine.audio(b"12")

    failed = machine.failed(problem("rate_limited", "full", retry_after_s=1))

    assert kinds(failed) == ["error", "audio.done"]
    assert {**told(failed)[0], "error": None} == {
        "type": "error",
        "message": "full",
        "error": None,
        "partial_audio": True,
        "action": "discard",
    }
    assert machine.waiting is AwaitedMessage.TEXT
    assert machine.receive(text(" two")) == []
    assert told(machine.receive(DONE)) == [{"type": "session.done", "utterance_index": 0, "total_sentences": 1}]
    assert machine.receive(text("Next")) == [Speak("Next")]


def test_text_that_cannot_be_spoken_ends_its_utterance_alone() -> None:
    machine = ready()
    machine.receive(text("One"))

    actions = machine.receive(text("\x00"))

    assert actions[0] == Stop()
    assert kinds(actions) == ["audio.start", "error", "audio.done"]
    assert kinds(machine.receive(DONE)) == ["session.done"]
    assert machine.receive(text("Next")) == [Speak("Next")]


def test_a_cancelled_utterance_ends_at_once() -> None:
    machine = ready()
    machine.receive(text("One"))
    machine.audio(b"12")

    actions = machine.receive({"type": "input.cancel"})

    assert actions[0] == Stop()
    assert kinds(actions) == ["audio.done", "session.done"]
    assert told(actions)[1]["cancelled"] is True
    assert machine.receive(text("Next")) == [Speak("Next")]


def test_a_cancellation_that_comes_too_late_is_nothing() -> None:
    machine = ready()
    machine.receive(text("One"))
    machine.receive(DONE)
    machine.done(SPOKEN)

    assert machine.receive({"type": "input.cancel"}) == []


def test_while_an_utterance_is_spoken_the_next_waits() -> None:
    machine = ready()
    machine.receive(text("One"))
    assert not machine.puts_off(text(" two"))
    machine.receive(DONE)

    assert all(machine.puts_off(each) for each in (text("Next"), DONE, CONFIG, {"type": "session.close"}))
    assert not machine.puts_off({"type": "input.cancel"})
    assert machine.waiting is AwaitedMessage.SPEECH


@pytest.mark.parametrize(
    "message",
    [text("One"), {"type": "nonsense"}, {}, {**CONFIG, "word_timestamps": True}, {**CONFIG, "split_granularity": "x"}],
)
def test_a_session_that_does_not_begin_with_its_manner_is_closed(message: Message) -> None:
    actions = StreamingTextMachine().receive(message)

    assert kinds(actions) == ["error"]
    [close] = [each for each in actions if isinstance(each, Close)]
    assert close.code == 1008


@pytest.mark.parametrize(
    "message", [{"type": "nonsense"}, {"type": "input.text"}, {"type": "input.cancel", "x": 1}, {}]
)
def test_later_a_message_that_cannot_be_is_told_of_and_overlooked(message: Message) -> None:
    machine = ready()

    assert kinds(machine.receive(message)) == ["error"]
    assert machine.receive(text("One")) == [Speak("One")]


def test_the_end_of_a_session_ends_what_is_said() -> None:
    machine = ready()
    machine.receive(text("One"))

    assert machine.receive({"type": "session.close"}) == [Stop(), Close(1000, "session.close")]


def test_a_session_that_is_retired_ends_what_it_speaks_and_begins_nothing() -> None:
    machine = ready()
    machine.receive(text("One"))
    assert kinds(machine.retire(server_stopping())) == ["session.ending"]
    machine.receive(DONE)

    assert not any(machine.puts_off(each) for each in (text("Next"), DONE, CONFIG))
    assert kinds(machine.receive(CONFIG)) == kinds(machine.receive(text("Next"))) == ["error"]
    assert machine.receive(DONE) == []
    assert machine.puts_off({"type": "session.close"})
    actions = machine.done(SPOKEN)
    assert kinds(actions)[-1] == "session.done"
    assert isinstance(actions[-1], Close)
    assert actions[-1].code == 1012


def test_a_session_that_speaks_nothing_is_retired_at_once() -> None:
    [close] = ready().retire(server_stopping())
    assert isinstance(close, Close)
    assert close.code == 1012
    machine = ready()
    machine.receive(text("..."))
    assert kinds(machine.retire(server_stopping())) == ["error"]


def test_a_text_without_a_letter_is_done_at_once_and_the_session_goes_on() -> None:
    machine = ready()
    assert machine.receive(text("...")) == []

    [done] = machine.receive(DONE)

    assert isinstance(done, Send)
    assert (done.message["type"], done.message["findings"]) == ("session.done", ["nothing_speakable"])
    assert machine.waiting is AwaitedMessage.NEXT


def test_who_is_waited_for() -> None:
    machine = StreamingTextMachine()
    assert machine.waiting is AwaitedMessage.START
    machine = ready()
    assert machine.waiting is AwaitedMessage.NEXT
    assert machine.timed_out() == [Close(1000, "nothing was asked for")]
    machine = ready()
    machine.receive(text("One"))
    assert [type(each) for each in machine.timed_out()] == [Stop, Send, Close]
