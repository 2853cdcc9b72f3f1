"""An input that takes long to read costs its own job: others are planned meanwhile, and cancelling frees the worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rhapsode.contract.jobs.input import DocumentFormat, NarrationInput, SourceType
from rhapsode.contract.jobs.states import JobState, Priority
from storage.database.embedded_valkey import EmbeddedRedis
from storage.ids import TenantId, new_job_id
from storage.jobs.record import JobRecord
from storage.jobs.submissions import Submission
from storage.jobs.work_queues import Lane
from storage.objects import keys
from storage.runtime.config.settings import StorageSettings
from tests.worker.process.test_processes import System
from tests.worker.studio import SPEC, TEXT

MALLORY = TenantId("mallory")
HARMLESS_BUT_SLOW = ("word " * 400 + "\n\n").encode() * 20_000
"""Forty megabytes, which nobody reads within the limits: as slow as the next expression that grows too fast."""


@pytest.fixture
def system(storage_settings: StorageSettings, valkey: EmbeddedRedis, tmp_path: Path) -> Iterator[System]:
    system = System(storage_settings, tmp_path)
    for lane in Lane:
        system.worker(lane)
    system.janitor()
    yield system
    system.close()


def submit_document(system: System, data: bytes) -> JobRecord:
    job = new_job_id()
    key = keys.input_text(MALLORY, job)
    system.artifacts.put(key, data)
    spec = SPEC.asking(input=NarrationInput(type=SourceType.DOCUMENT, format=DocumentFormat.TEXT))
    return system.jobs.submit(Submission(job, MALLORY, spec, Priority.NORMAL, key, len(data), 60_000, 3600)).job


def of_mallory(system: System, job: JobRecord) -> JobRecord:
    return system.jobs.get(MALLORY, job.id)


def test_five_short_jobs_end_beside_what_takes_too_long(system: System) -> None:
    slow = [submit_document(system, HARMLESS_BUT_SLOW) for _ in range(8)]
    dots = submit_document(system, b"." * 40_000)
    system.wait(lambda: of_mallory(system, slow[0]).state is JobState.RUNNING)

    short = [system.finished(system.submit(TEXT)) for _ in range(5)]

    assert {record.state for record in short} == {JobState.SUCCEEDED}
    assert any(not of_mallory(system, each).state.is_terminal for each in slow)
    for each in slow:
        system.jobs.cancel(MALLORY, each.id)
    # Whatever was under way has made room for this one.
    system.wait(lambda: of_mallory(system, dots).state.is_terminal)
    error = of_mallory(system, dots).error
    assert error is not None
    assert (error.code, error.detail[:41]) == ("invalid_request", "the word at character 0 has more than 100")
    assert system.jobs.audit_counters() == ()
