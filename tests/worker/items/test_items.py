"""What becomes of an item when something goes wrong with it: each outcome, on the real job store."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import replace

import pytest
import redis

from rhapsode.contract.jobs.input import Pauses
from rhapsode.contract.jobs.states import JobPhase, JobState
from storage.errors import StoreUnavailable
from storage.ids import WorkQueue
from storage.job_store.control import JobControl
from storage.jobs.record import JobRecord
from storage.jobs.work_items import WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects.keys import job_prefix
from storage.queue.dead_letters import DeadLetters
from tests.waiting import until
from tests.worker.failing_store import FailingStore, fail_times
from tests.worker.studio import GPU_QUEUE, SPEC, TENANT, Studio, run_gpu_item
from worker.engine.errors import EngineDied, EngineUnavailable
from worker.engine.fake import FakeEngine
from worker.engine.interface import (
    EngineInfo,
    EngineStats,
    OnAudio,
    ReferenceAudio,
    Speech,
    SpeechRequest,
    VoicePrompt,
)
from worker.engine.settings import FakeEngineSettings
from worker.items.leases.keeper import DropReason, LeaseKeeper
from worker.speech.postprocessing.in_process import InProcessPostProcessor
from worker.speech.postprocessing.interface import PackPart, StoredSpeech
from worker.speech.postprocessing.pool import PostProcessorPool


class MortalEngine:
    """A fake engine that fails the first `deaths` requests with `error`."""

    def __init__(self, deaths: int, error: type[EngineDied] = EngineDied) -> None:
        self._engine = FakeEngine(FakeEngineSettings(step_s=0.0))
        self._deaths = deaths
        self._error = error
        self.requests: list[SpeechRequest] = []

    @property
    def info(self) -> EngineInfo:
        return self._engine.info

    def submit(self, request: SpeechRequest, on_audio: OnAudio | None = None) -> Future[Speech]:
        self.requests.append(request)
        if len(self.requests) > self._deaths:
            return self._engine.submit(request, on_audio)
        future: Future[Speech] = Future()
        future.set_exception(self._error("killed by a test"))
        return future

    def cancel(self, request_id: str) -> None:
        self._engine.cancel(request_id)

    def encode_voice(self, reference: ReferenceAudio) -> Future[VoicePrompt]:
        return self._engine.encode_voice(reference)

    def stats(self) -> EngineStats:
        return self._engine.stats()

    def close(self) -> None:
        self._engine.close()


class LeavingPostProcessor(InProcessPostProcessor):
    """Of a worker that is told to leave while a segment is on its way into the store."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(studio.artifacts)
        self._closing = studio.services.worker.closing
        self._pool = PostProcessorPool(1, 1, "folder", "test")

    def store(self, key: str, part: PackPart) -> StoredSpeech:
        self._closing.set()
        self._pool.close()
        return self._pool.store(key, part)


@pytest.fixture
def slow_studio(studio: Studio) -> Studio:
    """A segment takes seconds, so that things can happen meanwhile."""
    engine = FakeEngine(FakeEngineSettings(slots=4, step_s=0.3))
    return replace(studio, services=replace(studio.services, engine=engine))


@pytest.fixture
def impatient_studio(studio: Studio) -> Studio:
    """Its leases are so short that no item waits for a store."""
    leases = LeaseKeeper(studio.jobs, 0.1)
    worker = replace(studio.services.worker, leases=leases)
    return replace(studio, services=replace(studio.services, worker=worker))


def test_an_idle_queue_ends_the_ticket(studio: Studio) -> None:
    studio.run_one(CPU_QUEUE)
    studio.run_one(GPU_QUEUE)

    assert studio.services.worker.leases.num_held == 0


def test_a_short_outage_of_the_store_costs_no_synthesis(studio: Studio) -> None:
    failing = FailingStore(studio.artifacts)
    failing.before_put = fail_times(2, only="segments/")
    engine = MortalEngine(deaths=0)
    patient = studio.with_artifacts(failing)
    patient = replace(patient, services=replace(patient.services, engine=engine))
    job = studio.submit()

    patient.drain()

    record = studio.record(job)
    assert record.state is JobState.SUCCEEDED
    assert record.retries == 0
    assert len(engine.requests) == record.segments.total


def test_a_put_whose_answer_was_lost_is_recognised(studio: Studio) -> None:
    failing = FailingStore(studio.artifacts)
    failing.after_put = fail_times(3, only="-")
    job = studio.submit()

    studio.with_artifacts(failing).drain()

    record = studio.record(job)
    assert record.state is JobState.SUCCEEDED
    assert record.retries == 0
    assert len(failing.puts) == len(set(failing.puts))


@pytest.mark.parametrize("refused", ["plan-", "segments/", "/artifacts/"])
def test_an_outage_costs_no_attempt_however_long_it_is(
    impatient_studio: Studio, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    """Of the store, while a plan, a segment or an assembly is written: every try meets it, more than there are."""
    studio = impatient_studio
    monkeypatch.setattr("worker.items.dispatch.STORE_PAUSE_S", (0.0, 0.0))
    failing = FailingStore(studio.artifacts)
    tries: list[str] = []

    def refuse(key: str) -> None:
        if refused in key:
            tries.append(key.rpartition("-")[2])
            raise StoreUnavailable("/a/path/of/the/server is full")

    failing.before_put = refuse
    job = studio.submit("One sentence only.")
    patient = studio.with_artifacts(failing)
    while len(set(tries)) < 6:
        patient.drain()
        studio.jobs.reap(10)
    waiting = studio.record(job)

    failing.before_put = lambda _: None
    until(lambda: finished_after_a_round(patient, job))

    assert (waiting.state, waiting.error, waiting.retries) == (JobState.RUNNING, None, 0)
    assert (studio.record(job).state, studio.record(job).retries) == (JobState.SUCCEEDED, 0)


def finished_after_a_round(studio: Studio, job: JobRecord) -> bool:
    studio.jobs.reap(10)
    studio.drain()
    return studio.record(job).state.is_terminal


def test_an_engine_death_costs_the_innocent_no_attempt(studio: Studio) -> None:
    engine = MortalEngine(deaths=2)
    mortal = replace(studio, services=replace(studio.services, engine=engine))
    job = studio.submit()

    mortal.drain()

    record = studio.record(job)
    assert record.state is JobState.SUCCEEDED
    assert len(engine.requests) == record.segments.total + 2


def test_an_engine_that_was_away_is_held_against_no_item(studio: Studio) -> None:
    engine = MortalEngine(deaths=20, error=EngineUnavailable)
    mortal = replace(studio, services=replace(studio.services, engine=engine))
    job = studio.submit("One sentence only.")

    mortal.drain()

    record = studio.record(job)
    assert record.state is JobState.SUCCEEDED
    assert record.retries == 0


def test_a_worker_that_leaves_hands_back_what_it_could_not_finish(studio: Studio) -> None:
    leaving = replace(studio, services=replace(studio.services, postprocessor=LeavingPostProcessor(studio)))
    job = studio.submit("One sentence only.")
    studio.run_one(CPU_QUEUE)

    leaving.run_one(GPU_QUEUE)

    item = studio.jobs.claim(GPU_QUEUE, WorkerIdentity("another", "1"), 10).item
    assert item is not None
    assert item.attempt == 1
    assert item.suspicions == 0
    assert studio.record(job).retries == 0


def test_what_kills_every_engine_fails_alone(studio: Studio) -> None:
    engine = MortalEngine(deaths=1_000)
    mortal = replace(studio, services=replace(studio.services, engine=engine))
    job = studio.submit("One sentence only.")

    mortal.drain()

    record = studio.record(job)
    assert record.state is JobState.FAILED
    assert record.error is not None
    assert record.error.code == "worker_lost"


def test_an_unexpected_error_is_tried_again_and_then_reported(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.items.dispatch.RETRY_DELAYS_S", (0.0,))
    failing = FailingStore(studio.artifacts)

    def bug(_: str) -> None:
        raise ZeroDivisionError("a bug in /a/path/of/the/server")

    failing.before_put = bug
    job = studio.submit()

    for _ in range(4):
        studio.with_artifacts(failing).run_one(CPU_QUEUE)
        studio.jobs.reap(10)

    record = studio.record(job)
    assert record.error is not None
    assert (record.error.code, record.error.detail) == ("internal", "a fault of this server; its log says which")


def being_spoken(studio: Studio) -> tuple[JobRecord, threading.Thread]:
    """A job that keeps the engine busy, and the thread that works on its item."""
    job = studio.submit("This sentence takes the fake engine a long time to say.")
    studio.run_one(CPU_QUEUE)
    ticket = threading.Thread(target=run_gpu_item, args=(studio.services,))
    ticket.start()
    until(lambda: studio.services.engine.stats().active == 1)
    return job, ticket


def test_a_cancelled_job_frees_the_engine_within_seconds(slow_studio: Studio) -> None:
    job, ticket = being_spoken(slow_studio)

    slow_studio.jobs.cancel(TENANT, job.id)
    ticket.join(30)

    assert not ticket.is_alive()
    assert slow_studio.services.engine.stats().active == 0
    assert slow_studio.record(job).state is JobState.CANCELLED


@pytest.mark.parametrize(("queue", "stored"), [(CPU_QUEUE, "plan-"), (GPU_QUEUE, "segments/")])
def test_a_result_that_comes_too_late_leaves_nothing_in_the_store(
    studio: Studio, queue: WorkQueue, stored: str
) -> None:
    job = studio.submit("One sentence only.")
    if queue == GPU_QUEUE:
        studio.run_one(CPU_QUEUE)
    failing = FailingStore(studio.artifacts)

    def end_and_delete(_: str) -> None:
        studio.jobs.cancel(TENANT, job.id)
        studio.services.worker.leases.extend_now()
        studio.jobs.delete(TENANT, job.id)
        studio.artifacts.delete_prefix(job_prefix(TENANT, job.id))

    failing.before_put = end_and_delete

    studio.with_artifacts(failing).run_one(queue)

    assert [stored in key for key in failing.puts] == [True]
    assert list(studio.artifacts.list("jobs/")) == []


def test_an_assembly_that_comes_too_late_leaves_nothing_in_the_store(studio: Studio) -> None:
    job = studio.submit("One sentence only.")
    studio.run_one(CPU_QUEUE)
    studio.run_one(GPU_QUEUE)
    failing = FailingStore(studio.artifacts)
    failing.after_put = lambda key: studio.jobs.cancel(TENANT, job.id) if key.endswith("manifest.json") else None

    studio.with_artifacts(failing).run_one(CPU_QUEUE)

    assert studio.record(job).state is JobState.CANCELLED
    assert len(failing.puts) == 3
    assert list(studio.artifacts.list(f"{job_prefix(TENANT, job.id)}artifacts/")) == []


def test_a_narration_of_more_than_250_hours_fails_before_anything_is_spoken(studio: Studio) -> None:
    # The speech is under twenty hours; the ten seconds of silence behind every paragraph are 250.
    job = studio.submit("Here it is." + "\n\nNow then." * 90_000, SPEC.asking(pauses=Pauses(paragraph_s=10.0)))

    record = studio.drained(job)

    assert record.error is not None
    assert (record.state, record.error.code, record.segments.total) == (JobState.FAILED, "text_too_long", 0)
    assert "266.1 hours" in record.error.detail


def test_a_shutdown_hands_the_item_back_untouched(slow_studio: Studio) -> None:
    job, ticket = being_spoken(slow_studio)

    slow_studio.services.worker.closing.set()
    slow_studio.services.worker.leases.drop_all(DropReason.SHUTDOWN)
    ticket.join(30)

    assert not ticket.is_alive()
    claim = slow_studio.jobs.claim(GPU_QUEUE, WorkerIdentity("w", "2"), 10)
    assert claim.item is not None
    assert (claim.item.lease.job, claim.item.attempt, claim.item.suspicions) == (job.id, 1, 0)


def test_a_closing_worker_claims_nothing(studio: Studio) -> None:
    studio.submit()
    studio.services.worker.closing.set()

    studio.run_one(CPU_QUEUE)

    assert studio.jobs.ready_counts()[CPU_QUEUE] == 1


def test_a_lease_outlives_work_that_takes_longer(slow_studio: Studio) -> None:
    keeper = LeaseKeeper(slow_studio.jobs, 3.0)
    keeper.start()
    worker = replace(slow_studio.services.worker, lease_s=3.0, leases=keeper)
    services = replace(slow_studio.services, worker=worker)
    slow_studio.submit("These are rather more than ten words.", SPEC.asking(seed=1))
    slow_studio.run_one(CPU_QUEUE)
    ticket = threading.Thread(target=run_gpu_item, args=(services,))

    ticket.start()
    while ticket.is_alive():
        assert slow_studio.jobs.reap(10).leases_expired == 0
        ticket.join(0.1)
    keeper.close()

    assert slow_studio.jobs.ready_counts()[CPU_QUEUE] == 1


def test_a_lost_lease_stops_the_work_and_the_result_is_refused(slow_studio: Studio) -> None:
    job, ticket = being_spoken(slow_studio)

    slow_studio.jobs.release_worker(WorkerIdentity("w", "2"))
    ticket.join(30)

    assert not ticket.is_alive()
    assert slow_studio.record(job).segments.done == 0
    assert slow_studio.jobs.ready_counts()[GPU_QUEUE] == 1


def test_an_item_of_a_release_before_is_set_aside_as_a_dead_letter(studio: Studio, redis_client: redis.Redis) -> None:
    job = studio.submit()
    studio.run_one(CPU_QUEUE)
    while studio.jobs.ready_counts()[GPU_QUEUE]:
        studio.run_one(GPU_QUEUE)
    # As releases before left it behind an assembly, for workers that sent files elsewhere.
    redis_client.hset(f"{{rhapsode}}:job:{job.id}", "phase", "delivering")
    redis_client.lset(f"{{rhapsode}}:ready:cpu:{job.id}", 0, "deliver")
    assert studio.record(job).phase is JobPhase.ASSEMBLING

    studio.run_one(CPU_QUEUE)

    failed = studio.record(job)
    assert failed.error is not None
    assert (failed.state, failed.error.code) == (JobState.FAILED, "internal")
    assert failed.error.detail == "this version does not know the item 'deliver'"
    assert [letter.item for letter in DeadLetters(redis_client).list(None, 9)] == ["deliver"]
    assert not studio.jobs.ready_counts()[CPU_QUEUE]

    JobControl(redis_client).retry(TENANT, job.id)
    studio.drain()

    assert studio.record(job).state is JobState.SUCCEEDED
