"""What programs send that were written for OpenAI's server: the fields are those of their public source."""

from __future__ import annotations

import base64
import dataclasses
import threading
from collections.abc import Callable
from typing import TypeVar

import pytest
from openai import OpenAI

from tests.api.harness import SMALL, ServedApi
from tests.api.live.scripted_worker import ScriptedWorker
from tests.api.openai.test_routes import speak_soon, the_job
from tests.api.openai.test_streaming import events, served
from tests.threads import join_in_time

T = TypeVar("T")

HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer sk-none"}

BODIES = {
    # open-webui/open-webui: backend/open_webui/routers/audio.py, `speech`; the page adds model and voice.
    "Open WebUI": b'{"input": "Hello there.", "voice": "alloy", "model": "tts-1"}',
    # SillyTavern/SillyTavern: public/scripts/extensions/tts/openai-compatible.js, `fetchTtsGeneration`.
    "SillyTavern": b'{"model":"tts-1","input":"Hello there.","voice":"nova","response_format":"mp3","speed":0.25}',
    # sfortis/openai_tts: custom_components/openai_tts/openaitts_engine.py, `get_tts`.
    "Home Assistant": b'{"model": "tts-1", "input": "Hi.", "voice": "shimmer", "response_format": "wav", "speed": 4}',
    # n8n-io/n8n: packages/@n8n/nodes-langchain/nodes/vendors/OpenAi/actions/audio/generate.operation.ts, `execute`.
    "n8n": b'{"model":"tts-1-hd","input":"Hello there.","voice":"onyx","response_format":"opus","speed":1}',
    # What each of these really sent to a server: litellm 1.110.2, `litellm.speech` and `litellm.aspeech`.
    "litellm": b'{"model":"tts-1","input":"Hello there, this is litellm.","voice":"alloy"}',
    "litellm with options": b'{"model":"gpt-4o-mini-tts","input":"# Hello\\n\\nThis is **litellm**.","voice":"coral",'
    b'"instructions":"Cheerful","response_format":"wav","speed":1.5}',
    # langchain-ivoire 0.1.0a3, `OpenRouterBackend.synthesize`, with this server as its `base_url`.
    "LangChain": b'{"model":"tts-1","input":"Hello there.","voice":"alloy","response_format":"wav"}',
}
IGNORED = {
    "SillyTavern": "speed (0.5 instead of 0.25)",
    "Home Assistant": "speed (2 instead of 4)",
    "litellm with options": "instructions",
}

STREAMED = {
    # livekit-plugins-openai 1.8.9, `TTS.synthesize`: events or audio, by the model.
    "LiveKit": b'{"model":"gpt-4o-mini-tts","input":"Hello there.","voice":"ash","instructions":"Calm.",'
    b'"response_format":"mp3","speed":1.0,"stream_format":"sse"}',
    "LiveKit with tts-1": b'{"model":"tts-1","input":"Hello there.","voice":"ash","instructions":"Calm.",'
    b'"response_format":"mp3","speed":1.0,"stream_format":"audio"}',
    # pipecat-ai 1.14.0, `OpenAITTSService.run_tts`.
    "Pipecat": b'{"model":"gpt-4o-mini-tts","input":"Hello there.","voice":"alloy","instructions":"Calm.",'
    b'"response_format":"pcm"}',
}


@pytest.fixture
def plain(api: ServedApi) -> ServedApi:
    """With a model that takes no instructions."""
    api.models.publish(dataclasses.replace(SMALL, accepts_instructions=False))
    return api


def while_spoken(api: ServedApi, ask: Callable[[], T]) -> T:
    def work_once_there() -> None:
        the_job(api)
        speak_soon(api)

    worker = threading.Thread(target=work_once_there)
    worker.start()
    try:
        return ask()
    finally:
        join_in_time(worker)


@pytest.mark.parametrize("program", BODIES)
def test_a_program_is_answered_with_audio(plain: ServedApi, program: str) -> None:
    answer = while_spoken(plain, lambda: plain.http.post("/v1/audio/speech", content=BODIES[program], headers=HEADERS))

    assert answer.status_code == 200, answer.text
    assert int(answer.headers["content-length"]) == len(answer.content) > 0
    assert answer.headers.get("x-ignored") == IGNORED.get(program)


@pytest.mark.parametrize("program", STREAMED)
def test_a_program_that_plays_at_once_is_answered_with_a_stream(api: ServedApi, program: str) -> None:
    with served(api, ScriptedWorker("one")):
        answer = api.http.post("/v1/audio/speech", content=STREAMED[program], headers=HEADERS)

    assert (answer.status_code, answer.headers["x-ignored"]) == (200, "instructions")
    assert "x-job-id" not in answer.headers
    if program == "LiveKit":
        deltas = [event["audio"] for event in events(answer) if event["type"] == "speech.audio.delta"]
        assert b"".join(map(base64.b64decode, deltas))[:2] in (b"ID", b"\xff\xf3", b"\xff\xfb")
    else:
        assert answer.content


def test_openais_client_speaks_with_instructions_and_any_speed(plain: ServedApi) -> None:
    client = OpenAI(base_url=f"{plain.url}/v1", api_key="none", max_retries=0)
    create = client.audio.speech.with_raw_response.create

    with client:
        answer = while_spoken(
            plain,
            lambda: create(
                model="gpt-4o-mini-tts",
                voice="coral",
                input="Hello there.",
                instructions="Cheerful.",
                speed=4.0,
                response_format="wav",
                extra_body={"lang_code": "a"},
            ),
        )

    assert answer.headers["x-ignored"] == "lang_code, speed (2 instead of 4), instructions"
    assert answer.content.startswith(b"RIFF")


def test_open_webui_finds_voices_and_models(plain: ServedApi) -> None:
    """backend/open_webui/routers/audio.py, `get_available_voices` and `get_available_models`."""
    voices = {each["id"]: each["name"] for each in plain.http.get("/v1/audio/voices").json().get("voices", [])}
    models = [each["id"] for each in plain.http.get("/v1/audio/models").json().get("models", [])]

    assert (voices, models) == ({"Alice": "Alice", "Bob": "Bob"}, ["small"])
