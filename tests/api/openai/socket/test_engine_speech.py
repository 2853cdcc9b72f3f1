"""From a client's pieces of text through the API and a worker's live server to an engine, and back."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from api.settings import ApiSettings
from rhapsode.contract.speech_socket import NARI
from storage.database.connections import connect_redis, open_artifacts
from storage.queue.model_registry import ModelRegistry
from storage.queue.worker_registry import WorkerRegistry, WorkerReport, WorkerRole
from storage.voices.store import VoiceStore
from tests.api.harness import ServedApi, serve
from tests.api.openai.socket.pieces import cut
from tests.api.openai.socket.test_routes import open_socket
from tests.api.openai.socket.test_speech import heard, say
from worker.engine.fake import FakeEngine
from worker.engine.settings import FakeEngineSettings
from worker.lifecycle.model_card import model_card
from worker.live.parts import LiveParts
from worker.live.server import LiveBinding, LiveServer
from worker.speech.quality.calibration.calibration_file import UNCALIBRATED
from worker.voices.cache import PromptCache
from worker.voices.resolving import VoiceResolver

TEXT = 'Dr. Hale met 3 foxes — "so they say" — in the old house. Nobody came 😀 after them. The end.'
ORDER = {"voice": "ada", "language": "english", "seed": 3}


@pytest.fixture
def speaking(api_settings: ApiSettings) -> Iterator[ServedApi]:
    engine = FakeEngine(FakeEngineSettings(slots=1, live_slots=3, step_s=0.0005))
    with connect_redis(api_settings) as client:
        artifacts, prefix = open_artifacts(api_settings), api_settings.key_prefix
        voices = VoiceResolver(VoiceStore(client, prefix), artifacts, engine, PromptCache(1 << 20))
        parts = LiveParts(
            *("gpu-0", "fake", engine, voices, artifacts),
            lambda voice, language: UNCALIBRATED.bounds(language, voice),
        )
        server = LiveServer(parts, LiveBinding(), lambda: 1.0)
        server.start()
        ModelRegistry(client, prefix).publish(model_card("fake", engine.info, ()))
        report = WorkerReport(
            *("gpu-0", WorkerRole.GPU, "here", 1, "1", 0, 0), queue="speech.fake", model="fake", live=server.address()
        )
        WorkerRegistry(client, prefix).report(report)
        with serve(api_settings) as api:
            yield api
        server.close()
        engine.close()


def spoken(api: ServedApi, pieces: list[str]) -> tuple[bytes, dict[str, Any]]:
    with open_socket(api, NARI) as client:
        say(client, {"type": "request.start", **ORDER})
        for number, piece in enumerate(pieces):
            # Half a character can stand in JSON alone.
            client.send(json.dumps({"type": "input_text.append", "sequence": number, "text": piece}))
        say(client, {"type": "input_text.end", "sequence": len(pieces)})
        audio, events = heard(client, "response.done")
    return audio, events[-1]


def test_pieces_of_any_shape_are_heard_as_the_whole_text_is(speaking: ServedApi) -> None:
    manner = {"stream": True, "response_format": "pcm", "non_streaming_mode": False}
    body = {**ORDER, "model": "fake", "input": TEXT, **manner}
    whole = speaking.http.post("/v1/audio/speech", json=body).content
    draw = random.Random(5)
    some = [cut(TEXT, [draw.randrange(len(TEXT)) for _ in range(number)]) for number in (0, 5, 40)]

    for pieces in (*some, list(TEXT)):
        audio, done = spoken(speaking, pieces)
        assert audio == whole
        assert (done["stop_reason"], done["usage"]["input_chars"]) == ("stop", len(TEXT))


def test_speech_begins_before_its_text_has_ended_and_a_place_that_is_given_back_is_there_again(
    speaking: ServedApi,
) -> None:
    # More than there are places.
    for _ in range(5):
        with open_socket(speaking, NARI) as client:
            say(client, {"type": "request.start", **ORDER})
            say(client, {"type": "input_text.append", "sequence": 0, "text": f"{TEXT} And then "})
            heard(client, "response.started")
            while not isinstance(client.recv(timeout=60), bytes):
                pass
            say(client, {"type": "response.cancel"})
            assert heard(client, "response.done")[1][-1]["stop_reason"] == "cancelled"
