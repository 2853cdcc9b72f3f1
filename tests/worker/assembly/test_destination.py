"""Finished files under folders that the caller chose: where they lie, whose they are, and that they go with the job."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from rhapsode.contract.jobs.output import AudioFormat, Destination, Output, OutputFormat
from rhapsode.contract.jobs.states import JobState
from storage.errors import JobGone
from storage.ids import JobId, TenantId
from storage.job_store.control import JobControl
from storage.job_store.object_folders import folders_of
from storage.jobs.record import JobRecord
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects import keys
from tests.worker.assembly.studio import Book, submit_book, voice_like
from tests.worker.failing_store import FailingStore
from tests.worker.studio import TENANT, Studio
from worker.janitor.sweeper import ORPHAN_AGE_S, OrphanSweep

BOOKS = Destination(prefix="books/42/")
TO_BOOKS = Output(destination=BOOKS)
FILES = ["codes.safetensors", "manifest.json", "narration.wav"]


def spoken(studio: Studio, output: Output = TO_BOOKS) -> JobRecord:
    """A job that waits to be assembled."""
    return submit_book(studio, Book((voice_like(0.2, 0.3, 1),), (0.0,)), output)


def finished(studio: Studio, output: Output = TO_BOOKS) -> JobRecord:
    job = spoken(studio, output)
    studio.run_one(CPU_QUEUE)
    return studio.record(job)


def delivered(studio: Studio, prefix: str = keys.DELIVERED) -> list[str]:
    return sorted(entry.key for entry in studio.artifacts.list(prefix))


def age(store: Path) -> None:
    long_ago = time.time() - ORPHAN_AGE_S - 60
    for path in store.rglob("*"):
        if path.is_file():
            os.utime(path, (long_ago, long_ago))


def test_files_lie_under_the_callers_folders_and_below_them_in_the_jobs_own(studio: Studio) -> None:
    first, second = finished(studio), finished(studio)

    for job in (first, second):
        folder = f"delivered/{TENANT}/books/42/{job.id}/"
        found = delivered(studio, folder)
        assert sorted(each.key for each in job.artifacts) == found
        assert [key.rpartition("/")[2] for key in found] == FILES
        assert not list(studio.artifacts.list(keys.all_artifacts_prefix(TENANT, job.id)))
    assert len(delivered(studio, f"delivered/{TENANT}/books/42/")) == 2 * len(FILES)


def test_a_job_assembled_again_and_one_whose_worker_died_leave_nothing_unlisted(
    studio: Studio, redis_client: redis.Redis
) -> None:
    job = spoken(studio)
    died = studio.jobs.claim(CPU_QUEUE, replace(studio.services.worker.identity, name="other"), 60).item
    assert died is not None
    studio.artifacts.put(keys.artifact(died.lease, "narration.wav", BOOKS), b"half a file")
    studio.jobs.release_worker(replace(studio.services.worker.identity, name="other", boot_id="2"))
    studio.run_one(CPU_QUEUE)
    after_death = delivered(studio)
    flac = TO_BOOKS.model_copy(update={"formats": (OutputFormat(type=AudioFormat.FLAC),)})

    JobControl(redis_client).assemble(TENANT, job.id, lambda spec: spec.asking(output=flac), None)
    studio.run_one(CPU_QUEUE)

    assert [key.rpartition("/")[2] for key in after_death] == FILES
    assert delivered(studio) == sorted(each.key for each in studio.record(job).artifacts)
    kept = set(delivered(studio)) & set(after_death)
    assert {key.rpartition("/")[2] for key in kept} == {"narration.wav"}


def test_an_assembly_that_comes_too_late_leaves_nothing_at_the_destination(studio: Studio) -> None:
    job = spoken(studio)
    failing = FailingStore(studio.artifacts)

    def cancel_behind_the_last(key: str) -> None:
        if key.endswith("manifest.json"):
            studio.jobs.cancel(TENANT, job.id)

    failing.after_put = cancel_behind_the_last

    studio.with_artifacts(failing).run_one(CPU_QUEUE)

    assert studio.record(job).state is JobState.CANCELLED
    assert all(key.startswith(keys.DELIVERED) for key in failing.puts)
    assert len(failing.puts) == len(FILES)
    assert delivered(studio) == []


def test_the_folders_of_a_job_are_all_of_its_objects(studio: Studio) -> None:
    job, other = finished(studio), finished(studio)

    for folder in folders_of(studio.jobs, TENANT, job.id):
        studio.artifacts.delete_prefix(folder)

    assert [entry.key for entry in studio.artifacts.list("") if job.id in entry.key] == []
    assert delivered(studio) == sorted(each.key for each in other.artifacts)
    assert folders_of(studio.jobs, TENANT, JobId("job_unknown")) == (keys.job_prefix(TENANT, JobId("job_unknown")),)


def test_what_is_left_of_a_deleted_job_goes_after_a_day_and_nothing_else(
    studio: Studio, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    deleted, kept = finished(studio), finished(studio)
    studio.jobs.delete(TENANT, deleted.id)
    forgotten = f"delivered/{TENANT}/books/42/job_forgotten/7/narration.wav"
    studio.artifacts.put(forgotten, b"of a job that Redis never heard of")
    sweep = OrphanSweep(studio.jobs, studio.artifacts)

    sweep.run()
    young = delivered(studio)
    age(tmp_path / "store")
    sweep.run()

    assert len(young) == 2 * len(FILES) + 1
    assert delivered(studio) == sorted([forgotten, *(each.key for each in kept.artifacts)])
    assert caplog.messages.count("objects of an unknown job") == 1
    with pytest.raises(JobGone):
        studio.record(deleted)


@pytest.mark.parametrize("prefix", ["a/", "books/42/", "x.y-z_0/" * 20])
def test_a_key_tells_whose_file_it_is(prefix: str) -> None:
    folder = keys.all_artifacts_prefix(TenantId("acme"), JobId("job_1"), Destination(prefix=prefix))

    assert keys.delivered_for(folder) == ("acme", "job_1")
    assert keys.artifact_fence(f"{folder}77/narration.wav") == 77
