"""A job's opening goes over the wire while it is spoken, without the silence at its edges."""

from __future__ import annotations

import numpy as np

from storage.ids import JobId
from storage.live.messages import Audio, JobOpening, Listen, OpeningOver
from tests.worker.live.caller import Caller, calling
from worker.engine.fake import NUM_CODEBOOKS, SAMPLES_PER_FRAME, fake_speech
from worker.engine.interface import CodecFrames, OnAudio, Pcm, SpeechChunk
from worker.live.edges import HeldSilence, LeadingSilence
from worker.live.parts import LiveParts
from worker.live.server import LiveServer
from worker.speech.audio.samples import to_bytes, to_samples
from worker.speech.openings import Opening

RATE = 24_000
JOB = JobId("job_1")
TEXT = "Once upon a time there was a king."


def opening(attempt: int = 1) -> Opening:
    return Opening(3, attempt, TEXT, "ada", "english")


def make(on_audio: OnAudio | None, pcm: Pcm, frames: CodecFrames) -> None:
    assert on_audio is not None
    for number, codes in enumerate(frames):
        on_audio(SpeechChunk(pcm[number * SAMPLES_PER_FRAME : (number + 1) * SAMPLES_PER_FRAME], codes[None]))


def heads(caller: Caller, name: str) -> list[object]:
    return [head for head in caller.streams[name].heads if not isinstance(head, Audio)]


def test_an_opening_is_heard_from_speech_to_speech(server: LiveServer, parts: LiveParts) -> None:
    pcm, frames = fake_speech(TEXT, 7)
    leading, held = LeadingSilence(RATE), HeldSilence(RATE)
    with calling(server.address()) as caller:
        caller.say(Listen(stream="one", job=JOB))
        caller.until(lambda: parts.openings.is_listened_to(JOB))
        with parts.openings.speaking(JOB, opening()) as on_audio:
            make(on_audio, pcm, frames)
        caller.until(lambda: len(heads(caller, "one")) == 2)

    assert heads(caller, "one") == [
        JobOpening(stream="one", fence=3, attempt=1),
        OpeningOver(stream="one", is_whole=True),
    ]
    expected = np.concatenate((held.take(leading.take(pcm)), held.end()))
    assert caller.streams["one"].all_samples == to_bytes(to_samples(expected))
    # The first and the last frame are silent: all of them is left out but the margins.
    assert abs(len(expected) - (len(pcm) - 2 * SAMPLES_PER_FRAME + 2 * 720)) <= 240


def test_what_the_live_gate_ends_is_told_to_be_broken_off(server: LiveServer, parts: LiveParts) -> None:
    loud = np.full(SAMPLES_PER_FRAME, 0.1, np.float32)
    same = np.ones((1, NUM_CODEBOOKS), np.int16)
    with calling(server.address()) as caller:
        caller.say(Listen(stream="one", job=JOB))
        caller.until(lambda: parts.openings.is_listened_to(JOB))
        with parts.openings.speaking(JOB, opening()) as on_audio:
            make(on_audio, np.tile(loud, 40), np.repeat(same, 40, axis=0))
        caller.until(lambda: len(heads(caller, "one")) == 2)

    assert heads(caller, "one")[1] == OpeningOver(stream="one", is_whole=False)
    assert 2 * len(caller.streams["one"].all_samples) // 4 < 20 * SAMPLES_PER_FRAME


def test_who_cancels_or_is_gone_listens_no_more(server: LiveServer, parts: LiveParts) -> None:
    with calling(server.address()) as caller:
        caller.say(Listen(stream="one", job=JOB))
        caller.until(lambda: parts.openings.is_listened_to(JOB))
        caller.cancel("one")
        caller.until(lambda: not parts.openings.is_listened_to(JOB))
        caller.say(Listen(stream="two", job=JOB))
        caller.until(lambda: parts.openings.is_listened_to(JOB))
        with calling(server.address()) as other:
            caller.drop()
            other.until(lambda: not parts.openings.is_listened_to(JOB))


def test_listening_takes_no_place(server: LiveServer, parts: LiveParts) -> None:
    with calling(server.address()) as caller:
        caller.say(Listen(stream="one", job=JOB))
        caller.until(lambda: parts.openings.is_listened_to(JOB))

        assert server.address().free == caller.hello.live_slots
        assert server.address().tells_openings
