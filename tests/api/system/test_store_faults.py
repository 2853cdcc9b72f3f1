"""The API over an S3 server that is stopped, busy or silent: 503 for who needs it, and nothing for who does not."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass, replace

import httpx
import pytest

from api.services import container
from storage.audio.wav import streaming_wav_header
from storage.database.connections import open_artifacts
from storage.objects.patience import FOR_REQUESTS
from storage.runtime.config.settings import StorageSettings
from tests.api.harness import SMALL, ServedApi, serve
from tests.api.jobs.segments.test_audio_routes import (
    RATE_HZ,
    claim_all,
    finish,
    listening,
    pcm,
    planned_job,
    speak,
    spoken,
)
from tests.api.voices.test_routes import multipart
from tests.api.voices.voices import BASE, CONSENT, EMBEDDING
from tests.settings import api_settings_of
from tests.storage.objects.embedded_s3 import BUCKET, EmbeddedS3
from tests.storage.objects.faulty_proxy import FaultyProxy, Mode, faulty_proxy
from tests.threads import BoundedExecutor


@dataclass(frozen=True)
class OnS3:
    """What stands behind the API reaches the store directly."""

    api: ServedApi
    proxy: FaultyProxy


@pytest.fixture
def on_s3(storage_settings: StorageSettings, weed: EmbeddedS3, monkeypatch: pytest.MonkeyPatch) -> Iterator[OnS3]:
    """With less patience than it has."""
    for name, value in weed.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(container, "FOR_REQUESTS", replace(FOR_REQUESTS, connect_s=2, read_s=3))
    with faulty_proxy(weed.endpoint_url) as proxy:
        store = f"s3://{BUCKET}/test/api/{uuid.uuid4().hex}"
        settings = api_settings_of(storage_settings, store=store, s3_endpoint_url=proxy.address)
        direct = open_artifacts(settings.model_copy(update={"s3_endpoint_url": weed.endpoint_url}))
        with serve(settings) as api:
            api.models.publish(SMALL)
            yield OnS3(replace(api, objects=direct), proxy)


def submitted(api: ServedApi) -> httpx.Response:
    return api.http.post("/v1/jobs", json={"input": {"text": "Good morning."}, "model": "small"})


def until_accepted(api: ServedApi) -> None:
    """As a client does who is told to come again."""
    until_s = time.monotonic() + 60
    while (answer := submitted(api)).status_code == 503 and time.monotonic() < until_s:
        time.sleep(0.1)
    assert answer.status_code == 202, answer.text


def check_refused(answer: httpx.Response, proxy: FaultyProxy) -> None:
    assert answer.status_code == 503, answer.text
    assert "storage_unavailable" in answer.text
    assert int(answer.headers["retry-after"]) >= 1
    for secret in (BUCKET, proxy.address.rpartition(":")[2], "127.0.0.1", "SlowDown"):
        assert secret not in answer.text


@pytest.mark.parametrize("mode", [Mode.STOPPED, Mode.BUSY, Mode.PAGE], ids=lambda mode: mode.value)
def test_who_needs_the_store_is_told_to_come_again(on_s3: OnS3, mode: Mode) -> None:
    api, proxy = on_s3.api, on_s3.proxy
    api.models.publish(BASE)
    before = submitted(api)
    assert before.status_code == 202, before.text
    proxy.become(mode)

    batch = b'{"custom_id": "one", "input": {"text": "Good morning."}, "model": "small"}\n'
    fields = {"name": "Nora", "consent": CONSENT, "speaker_embedding": json.dumps(EMBEDDING.tolist()), "model": "base"}
    content, headers = multipart(fields)
    refused = (
        submitted(api),
        api.http.post("/v1/batches", content=batch, headers={"Content-Type": "application/jsonl"}),
        api.http.post("/v1/voices", content=content, headers=headers),
        api.http.post("/v1/audio/speech", json={"input": "Good morning.", "model": "small", "voice": "Alice"}),
    )
    for answer in refused:
        check_refused(answer, proxy)
    readiness = api.http.get("/readyz")
    assert (readiness.status_code, readiness.json()["store"]) == (503, "unavailable")
    assert readiness.json()["reasons"][0].startswith("the object store does not answer (since ")

    proxy.become(Mode.WELL)
    until_accepted(api)
    # What was refused has left no name behind.
    assert api.http.post("/v1/voices", content=content, headers=headers).status_code == 201
    assert api.http.get("/readyz").status_code == 200


def test_who_listens_waits_out_a_store_that_is_away_and_who_comes_meanwhile_is_told(on_s3: OnS3) -> None:
    api, proxy = on_s3.api, on_s3.proxy
    job = planned_job(api, 2)
    items = claim_all(api, 2)
    speak(api, items[0])

    with listening(api, job) as listener:
        listener.wait_for(len(pcm(0)))
        proxy.become(Mode.STOPPED)
        speak(api, items[1])
        finish(api)
        check_refused(api.http.get(f"/v1/jobs/{job}/audio"), proxy)
        check_refused(api.http.get(f"/v1/jobs/{job}/segments/0/audio"), proxy)
        proxy.become(Mode.WELL)
        heard = listener.end()

    assert heard == streaming_wav_header(RATE_HZ) + spoken(0, 1)


def test_a_silent_store_takes_no_thread_from_requests_that_do_not_need_it(on_s3: OnS3) -> None:
    api, proxy = on_s3.api, on_s3.proxy
    assert submitted(api).status_code == 202
    proxy.become(Mode.SILENT)

    # More than the threads of requests.
    with BoundedExecutor(60) as at_once:
        waiting = {at_once.submit(submitted, api) for _ in range(60)}
        while waiting:
            assert api.http.get("/v1/models").status_code == 200
            assert api.http.get("/readyz").json()["threads"] == "ok"
            ended, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
            for answer in ended:
                check_refused(answer.result(), proxy)
    assert api.http.get("/readyz").json()["store"] == "unavailable"

    proxy.become(Mode.WELL)
    until_accepted(api)
