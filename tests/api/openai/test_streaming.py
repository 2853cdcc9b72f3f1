"""Speech that is sent while it is made, over a real connection to a worker that does as a test says."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Any

import av
import httpx
import numpy as np
import pytest
import soundfile

from storage.audio.recording_verdict import Repair
from storage.audio.tempo import stretched
from storage.audio.wav import HEADER_BYTES, streaming_wav_header
from storage.live.messages import OpenRefused
from storage.objects.keys import JOBS
from storage.queue.model_registry import ModelCard
from storage.queue.worker_registry import WorkerRegistry
from tests.api.harness import ServedApi
from tests.api.live.scripted_worker import MODEL, REVISION, ScriptedWorker, expected
from tests.api.voices.voices import CONSENT, recording
from tests.threads import join_in_time
from tests.waiting import until

RATE_HZ = 24_000
TEXT = "A stream is heard while it is made, and its state is its codes."
ORDER = {"model": MODEL, "voice": "ada", "input": TEXT, "stream": True, "response_format": "pcm", "seed": 3}
CARD = ModelCard(
    name=MODEL,
    revision=REVISION,
    task="custom_voice",
    speakers=("ada", "Zoë"),
    languages=("English",),
    default_language="English",
    sample_rate_hz=RATE_HZ,
    samples_per_frame=1920,
    num_codebooks=16,
    max_text_tokens=1024,
    speaker_dim=8,
    voice_modes=("x_vector", "in_context"),
)


@contextmanager
def served(api: ServedApi, worker: ScriptedWorker) -> Generator[ScriptedWorker]:
    """The worker in a loop of its own, announced to this API."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    stack = AsyncExitStack()

    def run(step: Callable[[], Awaitable[object]]) -> None:
        async def stepped() -> None:
            await step()

        asyncio.run_coroutine_threadsafe(stepped(), loop).result()

    try:
        run(lambda: stack.enter_async_context(worker.serving()))
        api.models.publish(CARD)
        WorkerRegistry(api.redis).report(worker.report())
        _until_known(api)
        yield worker
    finally:
        run(stack.aclose)
        loop.call_soon_threadsafe(loop.stop)
        join_in_time(thread)
        loop.close()


def _until_known(api: ServedApi) -> None:
    """The API looks for workers every second."""
    deadline = time.monotonic() + 60
    while api.http.post("/v1/audio/speech", json=ORDER | {"input": "Now."}).status_code == 503:
        assert time.monotonic() < deadline, "the worker was not found"
        time.sleep(0.05)


@pytest.fixture
def worker(api: ServedApi) -> Iterator[ScriptedWorker]:
    with served(api, ScriptedWorker("one")) as found:
        yield found


def speak(api: ServedApi, **fields: object) -> httpx.Response:
    return api.http.post("/v1/audio/speech", json=ORDER | fields)


def events(answer: httpx.Response) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for block in answer.text.split("\n\n")[:-1]:
        kind, data = block.split("\n")
        document = json.loads(data.removeprefix("data: "))
        assert kind == f"event: {document['type']}"
        found.append(document)
    return found


def decoded(data: bytes) -> float:
    with av.open(io.BytesIO(data), mode="r") as container:
        return sum(frame.samples / frame.sample_rate for frame in container.decode(container.streams.audio[0]))


def test_samples_are_a_stream_where_nothing_is_said_of_it(api: ServedApi, worker: ScriptedWorker) -> None:
    answer = speak(api, stream=None)

    assert (answer.status_code, answer.content) == (200, expected(TEXT, seed=3))
    assert answer.headers["x-stream-id"]


def test_samples_are_a_job_for_a_caller_who_comes_back_for_them(api: ServedApi, worker: ScriptedWorker) -> None:
    order = {name: value for name, value in ORDER.items() if name != "stream"}

    later = api.http.post("/v1/audio/speech", json=order, headers={"Prefer": "respond-async"})
    under_key = api.http.post(
        "/v1/audio/speech", json=order, headers={"Prefer": "respond-async", "Idempotency-Key": "one"}
    )

    assert (later.status_code, under_key.status_code) == (202, 202)
    assert later.json()["id"] != under_key.json()["id"]


def test_a_stream_is_what_was_spoken_in_every_format(api: ServedApi, worker: ScriptedWorker) -> None:
    pcm = expected(TEXT, seed=3)

    plain = speak(api, language="English", non_streaming_mode=False, stream_format="audio")
    wav = speak(api, response_format="wav")
    coded = {form: speak(api, response_format=form) for form in ("mp3", "opus", "flac", "aac")}

    assert (plain.status_code, plain.headers["content-type"], plain.content) == (200, "audio/pcm", pcm)
    assert (plain.headers["x-sample-rate"], plain.headers["x-model"], plain.headers["x-voice"]) == (
        "24000",
        MODEL,
        "ada",
    )
    assert wav.content == streaming_wav_header(RATE_HZ) + pcm
    assert {form: answer.headers["content-type"] for form, answer in coded.items()} == {
        "mp3": "audio/mpeg",
        "opus": "audio/ogg",
        "flac": "audio/flac",
        "aac": "audio/aac",
    }
    for form, answer in coded.items():
        assert decoded(answer.content) == pytest.approx(len(pcm) / 2 / RATE_HZ, abs=0.2), form
    assert api.http.get("/v1/jobs").json()["data"] == []


def test_a_whole_text_is_read_whole_unless_told_otherwise(api: ServedApi, worker: ScriptedWorker) -> None:
    for fields in ({}, {"non_streaming_mode": False}, {"non_streaming_mode": True}):
        assert speak(api, **fields).status_code == 200

    assert [opened.order.text_mode for opened in worker.opened[-3:]] == ["whole", "per_frame", "whole"]


def test_what_is_asked_for_reaches_the_worker(api: ServedApi, worker: ScriptedWorker) -> None:
    fields = {"voice": "nova", "model": "tts-1", "temperature": 0.5, "subtalker_top_k": 7, "max_new_tokens": 50}
    api.models.publish(CARD)

    answer = speak(api, **fields, non_streaming_mode=True)

    order = worker.opened[-1].order
    assert (order.text, order.narration.seed, order.text_mode, order.narration.language) == (TEXT, 3, "whole", "auto")
    assert (order.narration.sampling.temperature, order.narration.sampling.subtalker_top_k) == (0.5, 7)
    assert order.narration.sampling.max_new_tokens == 50
    assert (order.narration.voice, answer.headers["x-voice"]) in (("ada", "ada"), ("Zoë", "Zo%C3%AB"))


def test_a_stream_is_stretched_as_a_file_is(api: ServedApi, worker: ScriptedWorker) -> None:
    assert speak(api, speed=1.5).content == stretched(expected(TEXT, seed=3), RATE_HZ, 1.5)


BEYOND: dict[str, object] = {"speed": 3, "lang_code": "a", "ref_text": "Hello."}


def test_a_stream_is_spoken_without_what_cannot_be_and_names_it(api: ServedApi, worker: ScriptedWorker) -> None:
    answer = speak(api, **BEYOND)
    done = events(speak(api, **BEYOND, stream_format="sse"))[-1]

    assert answer.content == stretched(expected(TEXT, seed=3), RATE_HZ, 2)
    assert answer.headers["x-ignored"] == "lang_code, speed (2 instead of 3), ref_text"
    assert done["ignored"] == ["lang_code", "speed (2 instead of 3)", "ref_text"]


@pytest.mark.parametrize("text", ["...", "🙂", " — \n"])
@pytest.mark.parametrize("form", ["mp3", "opus", "aac", "flac", "wav", "pcm"])
def test_a_text_without_a_letter_is_a_short_silence(
    api: ServedApi, worker: ScriptedWorker, text: str, form: str
) -> None:
    before = len(worker.opened)

    streamed, whole = (speak(api, input=text, response_format=form, stream=each) for each in (True, False))

    assert (streamed.status_code, streamed.headers["x-ignored"]) == (200, "input")
    assert (whole.status_code, whole.headers["x-ignored"], whole.content) == (200, "input", streamed.content)
    assert len(worker.opened) == before
    if form == "pcm":
        assert whole.content == bytes(2 * RATE_HZ // 5)
        return
    with av.open(io.BytesIO(whole.content), "r") as opened:
        seconds = sum(frame.samples / frame.sample_rate for frame in opened.decode(audio=0))
    assert 0.19 < seconds < 0.4


def test_a_text_without_a_letter_is_no_job_whatever_is_preferred(api: ServedApi, worker: ScriptedWorker) -> None:
    order = ORDER | {"input": "...", "stream": False}

    waited, preferred = (
        api.http.post("/v1/audio/speech", json=order, headers={"Prefer": each}) for each in ("wait=1", "respond-async")
    )

    assert (preferred.status_code, preferred.headers["x-ignored"]) == (200, "input")
    assert "preference-applied" not in preferred.headers
    assert preferred.content == waited.content


def test_a_silence_is_sent_as_events_too(api: ServedApi, worker: ScriptedWorker) -> None:
    delta, done = events(speak(api, input="...", stream=None, stream_format="sse"))

    assert base64.b64decode(delta["audio"]) == bytes(2 * RATE_HZ // 5)
    assert (done["type"], done["ignored"], done["usage"]["input_chars"]) == ("speech.audio.done", ["input"], 0)


def test_events_have_the_audio_and_at_the_end_its_cost(api: ServedApi, worker: ScriptedWorker) -> None:
    answer = speak(api, stream=None, stream_format="sse", response_format="wav")

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    *deltas, done = events(answer)
    assert {delta["type"] for delta in deltas} == {"speech.audio.delta"}
    audio = b"".join(base64.b64decode(delta["audio"]) for delta in deltas)
    assert audio[HEADER_BYTES:] == expected(TEXT, seed=3)
    assert (done["type"], done["findings"], done["ignored"]) == ("speech.audio.done", [], [])
    assert done["usage"]["input_chars"] == len(TEXT)
    assert done["usage"]["audio_s"] == pytest.approx((len(audio) - HEADER_BYTES) / 2 / RATE_HZ, abs=0.001)


def test_a_stream_that_breaks_says_so_where_it_can(api: ServedApi) -> None:
    with served(api, ScriptedWorker("one", failure="segment_quality")) as worker:
        worker.fails_at = 3
        *deltas, error = events(speak(api, stream_format="sse"))
        worker.fails_at = 3
        with pytest.raises(httpx.RemoteProtocolError):
            speak(api)
        worker.fails_at = 0
        early = speak(api)

    assert len(deltas) == 3
    assert (error["type"], error["error"]["code"]) == ("speech.audio.error", "segment_quality")
    # Before the first byte there still is a status.
    assert (early.status_code, early.json()["error"]["code"]) == (422, "segment_quality")


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"voice": "nobody"}, 404),
        ({"model": "huge"}, 404),
        ({"language": "Klingon"}, 422),
        ({"input": "a" * 4_097}, 413),
        ({"speed": 5}, 422),
        ({"response_format": "m4b"}, 422),
        ({"task_type": "VoiceDesign"}, 422),
        ({"ref_audio": "https://127.0.0.1/a.wav", "voice": "auto", "consent": CONSENT}, 422),
    ],
)
def test_what_cannot_be_is_refused_before_the_first_byte(
    api: ServedApi, worker: ScriptedWorker, fields: dict[str, object], status: int
) -> None:
    before = len(worker.opened)

    answer = speak(api, **fields)

    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    assert len(worker.opened) == before


def test_a_stream_has_no_key_and_is_no_job(api: ServedApi, worker: ScriptedWorker) -> None:
    for headers in ({"Idempotency-Key": "fable-1"}, {"Prefer": "respond-async"}):
        answer = api.http.post("/v1/audio/speech", json=ORDER, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")


def test_no_place_is_said_at_once(api: ServedApi) -> None:
    with served(api, ScriptedWorker("one")) as worker:
        worker.refusal = OpenRefused(stream="any", code="full", detail="no place", retry_after_s=1.0)
        answer = speak(api)

    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "live_full")
    assert int(answer.headers["retry-after"]) >= 1


def test_a_caller_who_goes_frees_the_place(api: ServedApi) -> None:
    with served(api, ScriptedWorker("one", frame_s=0.02)) as worker:
        with httpx.Client(base_url=api.url) as http, http.stream("POST", "/v1/audio/speech", json=ORDER) as answer:
            next(answer.iter_raw())
        until(lambda: bool(worker.cancelled) and not worker.speaking, "the place was not freed")


def test_of_a_long_recording_the_best_minute_speaks_without_its_text(api: ServedApi, worker: ScriptedWorker) -> None:
    file = io.BytesIO()
    soundfile.write(file, np.sin(np.arange(61 * 8_000) / 10) / 2, 8_000, format="FLAC")
    url = f"data:audio/flac;base64,{base64.b64encode(file.getvalue()).decode()}"

    answer = speak(api, voice="alloy", ref_audio=url, ref_text="What it says.", consent=CONSENT)

    own = worker.opened[-1].order.own_voice
    assert own is not None
    assert (answer.status_code, own.mode, own.source.repairs) == (200, "x_vector", (Repair.CUT,))
    assert (answer.headers["x-recording-repaired"], "ref_text" in answer.headers["x-ignored"]) == (Repair.CUT, True)


def test_a_voice_that_comes_along_is_gone_with_the_stream(api: ServedApi, worker: ScriptedWorker) -> None:
    url = f"data:audio/wav;base64,{base64.b64encode(recording()).decode()}"

    answer = speak(api, voice="alloy", ref_audio=url, ref_text="What it says.", consent=CONSENT)

    own = worker.opened[-1].order.own_voice
    assert own is not None
    assert (answer.status_code, own.mode, own.ref_text) == (200, "in_context", "What it says.")
    # Behind the answer.
    until(lambda: not list(api.objects.list(JOBS)), "the recording was kept")
