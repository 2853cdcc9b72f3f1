"""Real Celery workers with the fake engine in its own process, driven by tickets alone; no API."""

from __future__ import annotations

import io
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from rhapsode.contract.jobs.narration import SegmentLengths
from rhapsode.contract.jobs.states import JobState
from storage.database.embedded_valkey import EmbeddedRedis
from storage.jobs.work_items import WorkerIdentity
from storage.jobs.work_queues import Lane, speech_queue
from storage.runtime.config.settings import StorageSettings
from tests.worker.expected import expected_narration
from tests.worker.started import WORKER, System
from tests.worker.studio import SPEC, TENANT, TEXT

LONG_SPEC = SPEC.asking(segmentation=SegmentLengths(target_chars=60, max_chars=90))
LONG_TEXT = "This is a sentence of a book that goes on and on for some time. " * 24


@pytest.fixture
def system(storage_settings: StorageSettings, valkey: EmbeddedRedis, tmp_path: Path) -> Iterator[System]:
    system = System(storage_settings, tmp_path)
    yield system
    system.close()


def test_workers_finish_a_narration_with_every_sample(system: System) -> None:
    for lane in Lane:
        system.worker(lane)

    record = system.finished(system.submit(TEXT))

    assert record.state is JobState.SUCCEEDED
    wav = system.artifacts.get(next(each.key for each in record.artifacts if each.name == "narration.wav"))
    samples, _ = soundfile.read(io.BytesIO(wav), dtype="int16")
    assert np.array_equal(samples, expected_narration(TEXT, SPEC).samples)
    assert [card.name for card in system.models.list()] == ["fake"]


def test_the_janitor_alone_replaces_lost_tickets(system: System) -> None:
    for lane in Lane:
        system.worker(lane)
    system.janitor()

    record = system.finished(system.submit_without_tickets(TEXT))

    assert record.state is JobState.SUCCEEDED
    assert system.jobs.audit_counters() == ()


def test_sigterm_lets_running_segments_finish_and_repeats_nothing(system: System) -> None:
    system.worker(Lane.CPU)
    first = system.worker(Lane.GPU, step_s=0.03)
    system.janitor()
    job = system.submit(LONG_TEXT, LONG_SPEC)
    system.wait(lambda: system.record(job).segments.done >= 2)

    first.send_signal(signal.SIGTERM)
    status = first.wait(120)
    after_exit = system.record(job)
    system.worker(Lane.GPU)
    record = system.finished(job)

    assert status == 0
    assert after_exit.segments.running == 0
    assert 2 <= after_exit.segments.done < after_exit.segments.total
    assert record.state is JobState.SUCCEEDED
    assert record.retries == 0
    segments = [entry.key for entry in system.artifacts.list(f"jobs/{TENANT}/{job.id}/segments/")]
    assert len(segments) == record.segments.total


@pytest.mark.faults
def test_a_second_sigterm_takes_nothing_from_what_still_runs(system: System) -> None:
    """Supervisors repeat themselves; by then Celery has stopped, and the process waits for its last items alone."""
    system.worker(Lane.CPU)
    worker = system.worker(Lane.GPU, step_s=0.25)
    job = system.submit("This takes the fake engine eight seconds.")
    system.wait(lambda: system.record(job).segments.running == 1)

    for _ in range(3):
        worker.send_signal(signal.SIGTERM)
        time.sleep(1)
    assert worker.poll() is None
    status = worker.wait(120)

    record = system.record(job)
    assert (status, record.segments.done, record.segments.running, record.retries) == (0, 1, 0, 0)


@pytest.mark.faults
def test_sigterm_hands_back_what_takes_too_long(system: System) -> None:
    system.worker(Lane.CPU)
    worker = system.worker(Lane.GPU, step_s=2.0)
    job = system.submit("This takes the fake engine a minute.")
    system.wait(lambda: system.record(job).segments.running == 1)

    worker.send_signal(signal.SIGTERM)
    started = time.monotonic()
    status = worker.wait(120)

    assert status == 0
    assert time.monotonic() - started > 19
    item = system.jobs.claim(speech_queue("fake"), WorkerIdentity("another", "1"), 10).item
    assert item is not None
    assert (item.attempt, item.suspicions) == (1, 0)


@pytest.mark.faults
def test_a_killed_worker_costs_seconds_and_no_sample(system: System) -> None:
    system.worker(Lane.CPU)
    first = system.worker(Lane.GPU, step_s=0.03)
    system.janitor()
    job = system.submit(LONG_TEXT, LONG_SPEC)
    system.wait(lambda: system.record(job).segments.done >= 2)

    first.kill()
    first.wait()
    system.worker(Lane.GPU)
    record = system.finished(job)

    assert record.state is JobState.SUCCEEDED
    wav = system.artifacts.get(next(each.key for each in record.artifacts if each.name == "narration.wav"))
    samples, _ = soundfile.read(io.BytesIO(wav), dtype="int16")
    assert np.array_equal(samples, expected_narration(LONG_TEXT, LONG_SPEC).samples)
    assert system.jobs.audit_counters() == ()


def test_a_worker_that_cannot_run_says_why_in_one_line(system: System, tmp_path: Path) -> None:
    worker = system.start(
        [*WORKER.split(), "worker.gpu_app", "--pool", "threads"],
        "broken.log",
        {"RHAPSODE_CHECKPOINT": str(tmp_path)},
    )

    status = worker.wait(120)

    assert status == 1
    assert "the gpu worker cannot start:" in system.log("broken.log")
    assert "Traceback" not in system.log("broken.log")


def test_a_worker_asks_for_its_metrics_port_before_it_loads_a_model(system: System, tmp_path: Path) -> None:
    """There is no model to be loaded: the port is what is said, and soon."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        worker = system.start(
            [*WORKER.split(), "worker.gpu_app", "--pool", "threads"],
            "taken.log",
            {
                "RHAPSODE_CHECKPOINT": str(tmp_path),
                "RHAPSODE_METRICS_PORT": str(port),
            },
        )
        status = worker.wait(120)

    assert status == 2
    assert f"RHAPSODE_METRICS_PORT: every port from {port} to {port} is taken" in system.log("taken.log")


def test_the_janitor_ends_cleanly_on_sigterm(system: System) -> None:
    janitor = system.janitor()
    system.wait(lambda: "janitor ready" in system.log("janitor.log"))

    janitor.send_signal(signal.SIGTERM)

    assert janitor.wait(120) == 0
    assert "Traceback" not in system.log("janitor.log")


def test_the_janitor_ends_soon_also_while_redis_says_nothing(system: System) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(120)
        address = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        janitor = system.start(["-m", "worker.janitor"], "janitor.log", {"RHAPSODE_REDIS_URL": address})
        asked, _ = silent.accept()
        with asked:
            asked.recv(1)

            janitor.send_signal(signal.SIGTERM)

            assert janitor.wait(120) == 0
    assert "ended before all chores had stopped" in system.log("janitor.log")
