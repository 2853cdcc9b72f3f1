"""A real API on a real port over a real Valkey, and a worker's part played by hand."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import redis
import uvicorn

from api.app import create_app
from api.server import server_config
from api.settings import ApiLimits, ApiSettings
from storage.database.connections import connect_redis, open_artifacts
from storage.ids import JobId, WorkQueue
from storage.job_store.store import JobStore
from storage.jobs.record import ArtifactRecord, JobRecord
from storage.jobs.work_items import ClaimedItem, PlanResult, WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.objects.keys import artifact, plan
from storage.objects.store import ArtifactStore
from storage.queue.model_registry import ModelCard, ModelRegistry
from storage.queue.recent_models import RecentModels
from storage.segments.results import SegmentReport
from tests.api.openapi.contract import check_answer
from tests.settings import PATIENT
from tests.threads import join_in_time
from tests.waiting import until

WORKER = WorkerIdentity("worker", "first")
LEASE_S = 30.0
GPU_QUEUE = speech_queue("small")

SMALL = ModelCard(
    name="small",
    revision="r1",
    task="custom_voice",
    speakers=("Alice", "Bob"),
    languages=("English", "German"),
    default_language="English",
    sample_rate_hz=24_000,
    samples_per_frame=1920,
    num_codebooks=16,
    max_text_tokens=1024,
    accepts_instructions=True,
    notice="a prototype",
)


class AnnouncedModels(ModelRegistry):
    """The API has seen what is published here. It looks every second otherwise."""

    def __init__(self, client: redis.Redis, key_prefix: str, seen: RecentModels) -> None:
        super().__init__(client, key_prefix)
        self._seen = seen

    def publish(self, card: ModelCard, embeddings: Sequence[Sequence[float]] = ()) -> None:
        super().publish(card, embeddings)
        self._seen.look()


@dataclass(frozen=True)
class ServedApi:
    """`http` speaks to the API; the rest looks behind it."""

    url: str
    http: httpx.Client
    redis: redis.Redis
    jobs: JobStore
    objects: ArtifactStore
    models: ModelRegistry

    def submit(self, text: str = "Good morning, everybody.", **fields: object) -> dict[str, Any]:
        answer = self.http.post("/v1/jobs", json={"input": {"text": text}, **fields})
        assert answer.status_code == 202, answer.text
        return answer.json()

    def traces(self) -> tuple[list[str], list[str]]:
        """Every key of the state database but the models and the fleet's history, and every object."""
        keys = [key for key in self.redis.scan_iter() if not key.endswith(("models", "fleet_points"))]
        # The journal is written a second after what it tells of.
        return sorted(keys), [entry.key for entry in self.objects.list("") if not entry.key.startswith("journal/")]


@contextmanager
def serve(settings: ApiSettings, grace_s: int = 1, limits: ApiLimits = PATIENT) -> Generator[ServedApi]:
    """grace_s: how long requests that are under way are waited for at the end."""
    app = create_app(settings, limits)
    config = server_config(app, settings, limits, log_level="warning", timeout_graceful_shutdown=grace_s)
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.005)
        hooks = {"response": [check_answer]}
        with httpx.Client(base_url=url, timeout=30, event_hooks=hooks) as http, connect_redis(settings) as client:
            yield ServedApi(
                url=url,
                http=http,
                redis=client,
                jobs=JobStore(client, settings.key_prefix),
                objects=open_artifacts(settings),
                models=AnnouncedModels(client, settings.key_prefix, app.state.services.intake.recent_models),
            )
    finally:
        server.should_exit = True
        join_in_time(thread)
        listener.close()


def until_under_way(api: ServedApi, num_requests: int) -> None:
    """Wait until the server is busy with so many requests at once."""
    # The question itself is one.
    until(lambda: _num_under_way(api) > num_requests, "they did not come")


def _num_under_way(api: ServedApi) -> int:
    lines = api.http.get("/metrics").text.splitlines()
    (line,) = (line for line in lines if line.startswith("rhapsode_http_requests_in_progress "))
    return int(float(line.split()[1]))


def claim(api: ServedApi, queue: WorkQueue) -> ClaimedItem:
    """The next item, which has to be there."""
    item = api.jobs.claim(queue, WORKER, LEASE_S).item
    assert item is not None
    return item


def start_job(api: ServedApi, num_segments: int = 2) -> ClaimedItem:
    """Plan the only waiting job and claim its first segment."""
    item = claim(api, CPU_QUEUE)
    api.jobs.commit_plan(item.lease, PlanResult(plan(item.lease), num_segments, 3_000))
    return claim(api, GPU_QUEUE)


def commit(api: ServedApi, item: ClaimedItem, flags: tuple[str, ...] = ()) -> None:
    """One second of speech for a segment."""
    report = SegmentReport(24_000, 24_000, 10, hashlib.sha256().hexdigest(), "eos", 50, flags=flags)
    api.jobs.commit_segment(item.lease, report)


def finish_segments(api: ServedApi) -> None:
    """Do the work of the only waiting job but for its assembly."""
    commit(api, start_job(api))
    commit(api, claim(api, GPU_QUEUE))


def finish_job(api: ServedApi, audio: bytes = b"RIFF" + bytes(range(256)) * 8) -> JobRecord:
    """Do the work of the only waiting job: two segments and an artifact of these bytes."""
    finish_segments(api)
    item = claim(api, CPU_QUEUE)
    stored = api.objects.put(artifact(item.lease, "narration.wav"), audio)
    record = ArtifactRecord("narration.wav", "wav", stored.key, stored.bytes, stored.sha256, 2.0)
    return api.jobs.finish(item.lease, [record]).job


def job_id(job: dict[str, Any]) -> JobId:
    return JobId(job["id"])
