"""What programs send that were written for OpenAI's server: the fields are those of their public source."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import TypeVar

import pytest
from openai import OpenAI

from tests.api.harness import SMALL, ServedApi
from tests.api.openai.test_routes import speak_soon, the_job
from tests.threads import join_in_time

T = TypeVar("T")

BODIES = {
    # open-webui/open-webui: backend/open_webui/routers/audio.py, `speech`; the page adds model and voice.
    "Open WebUI": b'{"input": "Hello there.", "voice": "alloy", "model": "tts-1"}',
    # SillyTavern/SillyTavern: public/scripts/extensions/tts/openai-compatible.js, `fetchTtsGeneration`.
    "SillyTavern": b'{"model":"tts-1","input":"Hello there.","voice":"nova","response_format":"mp3","speed":0.25}',
    # sfortis/openai_tts: custom_components/openai_tts/openaitts_engine.py, `get_tts`.
    "Home Assistant": b'{"model": "tts-1", "input": "Hi.", "voice": "shimmer", "response_format": "wav", "speed": 4}',
    # n8n-io/n8n: packages/@n8n/nodes-langchain/nodes/vendors/OpenAi/actions/audio/generate.operation.ts, `execute`.
    "n8n": b'{"model":"tts-1-hd","input":"Hello there.","voice":"onyx","response_format":"opus","speed":1}',
}
IGNORED = {"SillyTavern": "speed", "Home Assistant": "speed"}


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
    headers = {"Content-Type": "application/json", "Authorization": "Bearer sk-none"}

    answer = while_spoken(plain, lambda: plain.http.post("/v1/audio/speech", content=BODIES[program], headers=headers))

    assert answer.status_code == 200, answer.text
    assert int(answer.headers["content-length"]) == len(answer.content) > 0
    assert answer.headers.get("x-ignored") == IGNORED.get(program)


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

    assert answer.headers["x-ignored"] == "lang_code, speed, instructions"
    assert answer.content.startswith(b"RIFF")


def test_open_webui_finds_voices_and_models(plain: ServedApi) -> None:
    """backend/open_webui/routers/audio.py, `get_available_voices` and `get_available_models`."""
    voices = {each["id"]: each["name"] for each in plain.http.get("/v1/audio/voices").json().get("voices", [])}
    models = [each["id"] for each in plain.http.get("/v1/audio/models").json().get("models", [])]

    assert (voices, models) == ({"Alice": "Alice", "Bob": "Bob"}, ["small"])
