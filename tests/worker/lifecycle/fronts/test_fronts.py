"""Two fronts before one engine: real processes, of which any may be killed, and the engine without a model."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
import soundfile
from prometheus_client.parser import text_string_to_metric_families

from rhapsode.contract.jobs.narration import SegmentLengths
from rhapsode.contract.jobs.states import JobState
from storage.database.embedded_valkey import EmbeddedRedis
from storage.jobs.record import JobRecord
from storage.jobs.work_items import QUARANTINE_SUSPICIONS
from storage.jobs.work_queues import Lane
from storage.queue.worker_registry import WorkerRegistry
from storage.runtime.config.settings import StorageSettings
from tests.process_tree import everything_below, is_alive, runs_module
from tests.worker.expected import expected_narration
from tests.worker.started import QUIETLY, WORKER, System
from tests.worker.studio import SPEC
from worker.engine.fake import POISON_MARKER
from worker.process.drain import drain

FRONT = "worker.lifecycle.fronts.process"
ENGINE = "worker.engine.process.host"
NAMES = {"gpu-1", "gpu-1.front-1"}
LONG = SPEC.asking(segmentation=SegmentLengths(target_chars=60, max_chars=90))
LONG_TEXT = "This is a sentence of a book that goes on and on for some time. " * 40


class Fronted(System):
    """A worker of two fronts, four slots each."""

    _begun = 0

    @property
    def workers(self) -> WorkerRegistry:
        return WorkerRegistry(self._redis, self._settings.key_prefix)

    def begin(self, step_s: float = 0.02) -> subprocess.Popen[bytes]:
        """Returns once both take tickets."""
        settings = {
            "FRONTS": "2",
            "RHAPSODE_ENGINE": "fake",
            "RHAPSODE_FAKE_STEP_S": str(step_s),
            "RHAPSODE_SLOTS": "8",
            "RHAPSODE_POSTPROCESSORS": "2",
            "RHAPSODE_WORKER_NAME": "gpu-1",
            "RHAPSODE_METRICS_PORT": "20000-29999",
            "RHAPSODE_LOG_FORMAT": "json",
            "RHAPSODE_LEASE_S": "3",
        }
        command = f"{WORKER} tests.worker.lifecycle.fronts.app --pool threads {QUIETLY}"
        worker = self.start([*command.split()], "gpu.log", settings)
        self._begun += 1
        self.wait(lambda: len(self.lines("front ready")) >= self._begun)
        return worker

    def lines(self, event: str) -> list[dict[str, Any]]:
        lines = [line for line in self.log("gpu.log").splitlines() if line.startswith("{")]
        return [each for line in lines if (each := json.loads(line))["event"] == event]

    def finish(self, jobs: Sequence[JobRecord], texts: Sequence[str]) -> list[JobRecord]:
        """All succeed, with the samples of their texts."""
        records = [self.finished(job) for job in jobs]
        for record, text in zip(records, texts, strict=True):
            assert record.state is JobState.SUCCEEDED
            wav = self.artifacts.get(next(each.key for each in record.artifacts if each.name == "narration.wav"))
            assert np.array_equal(
                soundfile.read(io.BytesIO(wav), dtype="int16")[0], expected_narration(text, SPEC).samples
            )
        assert self.jobs.audit_counters() == ()
        return records

    def done_by(self) -> Counter[str]:
        return Counter(each["worker"] for each in self.lines("job finished"))

    def counted(self) -> dict[str, float]:
        with urlopen(f"http://127.0.0.1:{self.lines('metrics served')[-1]['port']}/metrics") as answer:
            families = list(text_string_to_metric_families(answer.read().decode()))
        names = [family.name for family in families]
        assert len(set(names)) == len(names)
        samples = [sample for family in families for sample in family.samples]
        done = {"kind": "segment", "outcome": "done"}
        return {each.name: each.value for each in samples if each.labels in ({}, done)}


@pytest.fixture
def system(storage_settings: StorageSettings, valkey: EmbeddedRedis, tmp_path: Path) -> Iterator[Fronted]:
    system = Fronted(storage_settings, tmp_path)
    yield system
    system.close()


def texts_of(number: int) -> list[str]:
    return [f"The lamp went out at nine, said {each}." for each in range(number)]


def one_below(worker: subprocess.Popen[bytes], module: str) -> int:
    (pid,) = [each for each in everything_below([worker.pid]) if runs_module(each, module)]
    return pid


def test_both_fronts_finish_jobs_each_once_and_are_counted_together(system: Fronted) -> None:
    system.begin()
    texts = texts_of(80)

    records = system.finish([system.submit_whole(text) for text in texts], texts)

    assert {record.retries for record in records} == {0}
    done_by = system.done_by()
    assert set(done_by) == NAMES
    assert done_by.total() == 80
    system.wait(lambda: system.counted()["rhapsode_items_total"] == 80)
    assert system.counted()["rhapsode_postprocessors"] == 2
    assert system.counted()["rhapsode_leases_held"] == 0
    assert [each.report.name for each in system.workers.list()] == ["gpu-1"]


def test_an_operators_wish_reaches_both_fronts(system: Fronted) -> None:
    system.begin()
    texts = texts_of(200)
    jobs = [system.submit_whole(text) for text in texts]
    system.wait(lambda: set(system.done_by()) == NAMES)

    # The first look may be at a report from before the wish, and find it between two items.
    assert drain(system.workers, "gpu-1", wait_s=60)
    done = system.done_by().total()
    time.sleep(1)

    assert system.done_by().total() == done < 200
    system.workers.undrain("gpu-1")
    system.finish(jobs, texts)


def test_a_killed_front_is_started_again_and_what_it_held_is_finished(system: Fronted) -> None:
    worker = system.begin()
    texts = texts_of(120)
    jobs = [system.submit_whole(text) for text in texts]
    system.wait(lambda: system.done_by()["gpu-1.front-1"] >= 8)
    before, counted = system.done_by()["gpu-1.front-1"], system.counted()["rhapsode_items_total"]

    os.kill(one_below(worker, FRONT), signal.SIGKILL)
    system.finish(jobs, texts)

    assert system.done_by()["gpu-1.front-1"] > before
    assert len(system.lines("front ready")) == 2
    assert system.lines("engine died") == []
    system.wait(lambda: system.counted()["rhapsode_leases_held"] == 0)
    # What it had counted in its last second is lost.
    assert counted < system.counted()["rhapsode_items_total"] <= 120


def test_fronts_die_with_their_worker_and_the_next_one_finishes(system: Fronted) -> None:
    worker = system.begin()
    texts = texts_of(80)
    jobs = [system.submit_whole(text) for text in texts]
    system.wait(lambda: set(system.done_by()) == NAMES)
    below = everything_below([worker.pid])
    assert any(runs_module(each, FRONT) for each in below)

    worker.kill()
    worker.wait()
    system.wait(lambda: not any(map(is_alive, below)), 10)
    system.begin()

    system.finish(jobs, texts)


def test_a_dead_engine_costs_no_front_and_no_attempt(system: Fronted) -> None:
    worker = system.begin()
    texts = texts_of(120)
    jobs = [system.submit_whole(text) for text in texts]
    system.wait(lambda: set(system.done_by()) == NAMES)
    front = one_below(worker, FRONT)

    os.kill(one_below(worker, ENGINE), signal.SIGKILL)
    system.finish(jobs, texts)

    assert {each["worker"] for each in system.lines("engine died")} == NAMES
    assert one_below(worker, FRONT) == front


def test_sigterm_lets_both_fronts_finish_what_they_speak(system: Fronted) -> None:
    system.worker(Lane.CPU)
    worker = system.begin(step_s=0.03)
    job = system.submit(LONG_TEXT, LONG)
    system.wait(lambda: system.record(job).segments.running > 4)

    worker.send_signal(signal.SIGTERM)
    status = worker.wait(120)

    record = system.record(job)
    assert (status, record.segments.running, record.retries) == (0, 0, 0)
    assert 4 < record.segments.done < record.segments.total
    system.begin()
    assert system.finished(job).state is JobState.SUCCEEDED


def test_poison_is_found_alone_and_takes_no_other_with_it(system: Fronted) -> None:
    system.begin(step_s=0.005)
    texts = texts_of(60)
    poison = system.submit_whole(f"This {POISON_MARKER}.")
    jobs = [system.submit_whole(text) for text in texts]

    failed = system.finished(poison)
    system.finish(jobs, texts)

    assert failed.error is not None
    assert (failed.state, failed.error.code) == (JobState.FAILED, "worker_lost")
    deaths = [each["job_id"] for each in system.lines("engine died")]
    assert deaths.count(poison.id) == QUARANTINE_SUSPICIONS + 4
    # Those while it ran alone.
    assert deaths[-4:] == [poison.id] * 4
