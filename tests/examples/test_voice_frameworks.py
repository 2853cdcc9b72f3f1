"""pipecat's and LiveKit's requests: values from our examples, and the calls of `openai` that their sources make."""

from __future__ import annotations

import ast
from typing import Any

import openai
import pytest

from rhapsode.stack.stack import Stack
from tests.examples.conftest import EXAMPLES, SERVER

MEDIA_TYPES = {"mp3": "audio/mpeg", "pcm": "audio/pcm"}
SAMPLE_RATE_HZ = 24_000
"""Both frameworks play `pcm` at this rate, whatever the server sends."""


def keywords(file: str, function: str) -> dict[str, Any]:
    """Literal keyword arguments of the one call of `function`."""
    calls = [each for each in ast.walk(ast.parse((EXAMPLES / file).read_text())) if isinstance(each, ast.Call)]
    (call,) = (each for each in calls if isinstance(each.func, ast.Attribute) and each.func.attr == function)
    return {each.arg: ast.literal_eval(each.value) for each in call.keywords if each.arg}


def client_of(stack: Stack, file: str) -> openai.OpenAI:
    assert f'base_url="{SERVER}/v1", api_key="none"' in (EXAMPLES / file).read_text()
    return openai.OpenAI(base_url=f"{stack.url}/v1", api_key="none", max_retries=0)


def test_pipecat_gets_samples_at_its_rate(stack: Stack) -> None:
    settings = keywords("pipecat_voice.py", "Settings")

    with (
        client_of(stack, "pipecat_voice.py") as client,
        client.audio.speech.with_streaming_response.create(
            input="This is pipecat.", response_format="pcm", **settings
        ) as answer,
    ):
        assert answer.status_code == 200
        assert answer.headers["x-sample-rate"] == str(SAMPLE_RATE_HZ)
        assert len(b"".join(answer.iter_bytes(4800))) > SAMPLE_RATE_HZ


@pytest.mark.parametrize("extra", [{}, {"response_format": "mp3"}, {"model": "gpt-4o-mini-tts"}], ids=str)
def test_livekit_gets_a_type_that_it_decodes(stack: Stack, extra: dict[str, str]) -> None:
    given = keywords("livekit_voice.py", "TTS")
    options: dict[str, Any] = {name: given[name] for name in ("model", "voice", "response_format")} | extra
    has_events = options["model"] != "tts-1"

    with (
        client_of(stack, "livekit_voice.py") as client,
        client.audio.speech.with_streaming_response.create(
            input="This is LiveKit.",
            speed=1.0,
            stream_format="sse" if has_events else "audio",
            timeout=30,
            **options,
        ) as answer,
    ):
        media_type = answer.headers["content-type"].partition(";")[0]
        assert media_type == ("text/event-stream" if has_events else MEDIA_TYPES[options["response_format"]])
        body = answer.read()

    if has_events:
        assert b'"speech.audio.delta"' in body
        assert b'"speech.audio.done"' in body
    else:
        assert len(body) > 1000
