"""Each kind of server is asked in its own shape, and what it answers is heard whole or called a failure."""

from __future__ import annotations

import asyncio
import base64
import io
import re
import time
import wave
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import JsonValue

from rhapsode.bench.server.listening import CountedWindow, Ear, NotHeard, RequestFailed, RequestRefused, Unreachable
from rhapsode.bench.server.orders import Language, SpeechRequestOrder, SpeechTarget, Task, TextLevel
from rhapsode.bench.server.targets import TARGETS
from rhapsode.stack.stack import Stack
from tests.rhapsode.bench.server.speech_servers import (
    RATE_HZ,
    SHAPES,
    SILENCE_S,
    Manner,
    nari_socket_server,
    speech_server,
)

TEXT = "  The 12 boats lay  still.\nNobody moved. "
SAMPLE = sorted((Path(__file__).resolve().parents[4] / "worker/small_voice/samples").glob("*.wav"))[0]
EVERYTHING = CountedWindow(0.0, float("inf"))


def speak(kind: str, speaking: SpeechTarget, text: str = TEXT) -> Ear:
    ear = Ear(EVERYTHING)
    asyncio.run(TARGETS[kind](speaking).speak(SpeechRequestOrder(0, text, Language.ENGLISH, TextLevel.SHORT), ear))
    return ear


@pytest.fixture
def live_stack(stack: Stack) -> Stack:
    """Once its worker speaks live, which the API finds out a moment after it is ready."""
    give_up_s = time.monotonic() + 30
    while True:
        try:
            speak("rhapsode", SpeechTarget(stack.url), "Now.")
        except RequestRefused as refusal:
            if refusal.status != 503 or time.monotonic() > give_up_s:
                raise
            time.sleep(0.2)
        else:
            return stack


def check_heard(ear: Ear, manner: Manner) -> None:
    assert ear.playback.audio_s == pytest.approx(manner.audio_s)
    assert ear.window_audio_s == pytest.approx(manner.audio_s)
    moments = (ear.sent_s, ear.first_byte_s, ear.playback.first_s, ear.audible_s)
    assert None not in moments
    assert list(moments) == sorted(moments, key=lambda each: each or 0.0)
    assert (ear.audible_s or 0.0) - (ear.playback.first_s or 0.0) >= SILENCE_S - 0.01


@pytest.mark.parametrize("kind", SHAPES)
def test_a_server_of_each_kind_is_heard(kind: str) -> None:
    manner = Manner()
    with speech_server(kind, manner) as url:
        ear = speak(kind, SpeechTarget(url, key="k", model="m", voice="v"))

    (body,) = manner.heard
    assert (body["input"], body["model"], body["voice"]) == (TEXT, "m", "v")
    check_heard(ear, manner)


def test_words_go_one_by_one_over_a_socket_and_make_up_the_text() -> None:
    manner = Manner()
    with nari_socket_server(manner) as url:
        ear = speak("nari-live", SpeechTarget(url, voice="v", parameters={"seed": 7}))

    (start,) = manner.heard
    assert (start["input"], start["voice"], start["seed"], start["language"]) == (TEXT, "v", 7, "English")
    check_heard(ear, manner)


@pytest.mark.parametrize("kind", ["rhapsode", "rhapsode-live", "rhapsode-jobs", "openai", "vllm-omni", "nari-live"])
def test_our_own_server_is_heard_as_what_it_is_compatible_with(kind: str, live_stack: Stack) -> None:
    parameters = {"language": "english"} if kind == "vllm-omni" else {}
    ear = speak(kind, SpeechTarget(live_stack.url, parameters=dict(parameters)), "The boats lay still.")

    assert ear.playback.audio_s > 0.5
    assert ear.audible_s is not None


RECORDING = "data:audio/wav;base64,UklGRg=="


@pytest.mark.parametrize(
    ("speaking", "said"),
    [
        (SpeechTarget("", task=Task.CUSTOM_VOICE, voice="ryan"), {"task_type": "CustomVoice", "voice": "ryan"}),
        (
            SpeechTarget("", task=Task.VOICE_DESIGN, instructions="low"),
            {"task_type": "VoiceDesign", "instructions": "low"},
        ),
        (
            SpeechTarget("", task=Task.X_VECTOR, reference=RECORDING),
            {"task_type": "Base", "ref_audio": RECORDING, "x_vector_only_mode": True},
        ),
        (
            SpeechTarget("", task=Task.IN_CONTEXT, reference=RECORDING, reference_text="So it goes."),
            {"task_type": "Base", "ref_audio": RECORDING, "ref_text": "So it goes."},
        ),
    ],
)
def test_each_task_is_asked_for_in_the_words_of_the_family(speaking: SpeechTarget, said: dict[str, JsonValue]) -> None:
    manner = Manner()
    with speech_server("vllm-omni", manner) as url:
        speak("vllm-omni", replace(speaking, url=url))

    (body,) = manner.heard
    assert {name: body.get(name) for name in said} == said
    assert not {"ref_audio", "ref_text", "x_vector_only_mode"} & (body.keys() - said.keys())


@pytest.mark.parametrize("kind", ["rhapsode", "rhapsode-live", "rhapsode-jobs"])
@pytest.mark.parametrize("task", [Task.X_VECTOR, Task.IN_CONTEXT])
def test_our_own_server_speaks_like_a_recording(kind: str, task: Task, live_stack: Stack) -> None:
    recording = base64.b64encode(SAMPLE.read_bytes()).decode()
    text = "So it goes." if task is Task.IN_CONTEXT else None
    speaking = SpeechTarget(
        live_stack.url,
        task=task,
        reference=f"data:audio/wav;base64,{recording}",
        reference_text=text,
        parameters={"consent": "It is a synthetic voice."},
    )

    assert speak(kind, speaking, "The boats lay still.").playback.audio_s > 0.5


def test_parameters_go_before_what_a_kind_would_send() -> None:
    manner = Manner()
    with speech_server("vllm-omni", manner) as url:
        speak("vllm-omni", SpeechTarget(url, parameters={"language": "Chinese", "task_type": "VoiceDesign"}))

    assert (manner.heard[0]["language"], manner.heard[0]["task_type"]) == ("Chinese", "VoiceDesign")


def test_what_a_server_refuses_it_refuses_in_its_own_words() -> None:
    with speech_server("openai", Manner()) as url, pytest.raises(RequestRefused, match=r"422 .*unknown: \['seed'\]"):
        speak("openai", SpeechTarget(url, parameters={"seed": 7}))


def test_a_refusal_over_a_socket_has_its_status() -> None:
    with nari_socket_server(Manner(fails_after=0)) as url, pytest.raises(RequestRefused, match="429 no place"):
        speak("nari-live", SpeechTarget(url))


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"Content-Type": "audio/mpeg", "X-Sample-Rate": "24000"}, "audio/mpeg, not bare samples"),
        ({"X-Sample-Rate": "24000"}, "of no type"),
        ({"Content-Type": "audio/pcm"}, "no sample rate"),
        ({"Content-Type": "audio/pcm", "X-Sample-Rate": "many"}, "no sample rate"),
    ],
)
def test_audio_of_another_kind_is_not_taken_for_samples(headers: dict[str, str], said: str) -> None:
    with speech_server("sglang-omni", Manner(headers=headers)) as url, pytest.raises(NotHeard, match=re.escape(said)):
        speak("sglang-omni", SpeechTarget(url))


def test_a_server_that_answers_with_a_wav_is_heard_at_its_rate() -> None:
    wav = io.BytesIO()
    with wave.open(wav, "wb") as file:
        file.setparams((1, 2, RATE_HZ // 2, 0, "NONE", ""))
    manner = Manner(headers={"Content-Type": "audio/x-wav"}, head=wav.getvalue())
    with speech_server("openai", manner) as url:
        ear = speak("openai", SpeechTarget(url))

    assert ear.playback.audio_s == pytest.approx(2 * manner.audio_s)


def test_an_answer_that_breaks_off_was_not_heard() -> None:
    with speech_server("nari", Manner(breaks_off=True)) as url, pytest.raises(Unreachable):
        speak("nari", SpeechTarget(url))
    with nari_socket_server(Manner(breaks_off=True)) as url, pytest.raises(Unreachable):
        speak("nari-live", SpeechTarget(url))


def test_silence_alone_is_audio_and_no_sound() -> None:
    manner = Manner(pieces=0)
    with speech_server("nari", manner) as url:
        ear = speak("nari", SpeechTarget(url))

    assert (ear.playback.audio_s, ear.audible_s) == (pytest.approx(SILENCE_S), None)


@pytest.mark.parametrize("kind", TARGETS)
def test_where_nothing_listens_a_request_fails_in_one_line(kind: str) -> None:
    with pytest.raises(RequestFailed) as failure:
        speak(kind, SpeechTarget("http://127.0.0.1:9"))

    assert isinstance(failure.value, Unreachable)
    assert "\n" not in str(failure.value)


def test_a_key_is_not_shown() -> None:
    assert "hush" not in repr(SpeechTarget("http://127.0.0.1:9", key="hush"))
