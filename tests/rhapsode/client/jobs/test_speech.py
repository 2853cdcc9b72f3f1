"""Speech that one waits for, through the whole system: the bytes are audio, in the form that was asked for."""

from __future__ import annotations

import asyncio
import io

import av
import httpx
import pytest

from rhapsode import AsyncRhapsode, InvalidRequest, Rhapsode
from rhapsode.client.sync.client import SpeechFormat
from rhapsode.stack.stack import Stack

TEXT = "The wind and the sun were disputing which was the stronger."

CODECS = {"mp3": "mp3float", "opus": "opus", "flac": "flac", "wav": "pcm_s16le"}


def heard(audio: bytes) -> tuple[str, float]:
    """The codec, and the seconds that can be decoded."""
    with av.open(io.BytesIO(audio), mode="r") as container:
        [stream] = container.streams.audio
        frames = list(container.decode(stream))
        return stream.codec_context.name, sum(frame.samples for frame in frames) / frames[0].sample_rate


@pytest.mark.parametrize("form", CODECS)
def test_the_answer_is_audio_of_the_wanted_form(client: Rhapsode, form: SpeechFormat) -> None:
    model = client.models()[0]

    codec, seconds = heard(client.speak(TEXT, model=model.name, voice=model.speakers[0], form=form))

    assert (codec in (CODECS[form], form, f"lib{form}"), seconds > 1) == (True, True)


def test_raw_samples_are_those_of_the_wav(client: Rhapsode) -> None:
    model = client.models()[0]

    raw, wav = (client.speak(TEXT, model=model.name, voice=model.speakers[0], form=form) for form in ("pcm", "wav"))

    assert len(raw) % 2 == 0
    assert abs(len(raw) - len(wav)) < len(wav) / 2


def test_the_asyncio_client_speaks_too(stack: Stack) -> None:
    async def speak() -> bytes:
        async with AsyncRhapsode(stack.url) as client:
            model = (await client.models())[0]
            return await client.speak(TEXT, model=model.name, voice=model.speakers[0], form="wav")

    assert asyncio.run(speak())[:4] == b"RIFF"


def test_what_is_too_long_to_wait_for_is_sent_to_jobs(client: Rhapsode) -> None:
    with pytest.raises(InvalidRequest, match="/v1/jobs") as caught:
        client.speak("word " * 1_000, model=client.models()[0].name, voice="anna")

    assert (caught.value.status, caught.value.code) == (413, "payload_too_large")


def test_a_caller_who_prefers_a_job_gets_one_that_plays(stack: Stack, client: Rhapsode) -> None:
    model = client.models()[0]
    order = {"model": model.name, "input": TEXT, "voice": model.speakers[0], "response_format": "wav"}

    answer = httpx.post(f"{stack.url}/v1/audio/speech", json=order, headers={"Prefer": "respond-async"})

    job = client.wait(answer.json()["id"], timeout_s=120).raise_unless_succeeded()
    assert (answer.status_code, job.artifacts[0].type) == (202, "wav")
