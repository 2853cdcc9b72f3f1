"""A worker that dies while it makes jobs of a batch's lines: none is lost, none is made twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter

import pytest
import redis

from rhapsode.contract.jobs.states import JobState
from storage.jobs.batches import SHARD_LINES, child_id
from storage.runtime.config.settings import StorageSettings
from tests.environment import settings_of_stores
from tests.worker.items.test_batches import jobs_of, put_batch
from tests.worker.studio import Studio

NUM_LINES = SHARD_LINES + 7
NUM_DEATHS = 2


def work(stores: StorageSettings, failpoint: str) -> int:
    """A worker process, which takes back what its predecessor held; its exit status."""
    settings = {"RHAPSODE_WORKER_NAME": "the-only-one", "RHAPSODE_FAILPOINT": failpoint}
    environment = os.environ | settings_of_stores(stores) | settings
    command = [sys.executable, "-m", "tests.worker.items.batch_process"]
    return subprocess.run(command, env=environment, timeout=120, check=False).returncode


@pytest.mark.parametrize("failpoint", ["batch.after_input:kill:15", "batch.before_commit:kill"])
def test_no_line_is_lost_or_doubled_when_the_worker_is_killed(
    failpoint: str, studio: Studio, storage_settings: StorageSettings, redis_client: redis.Redis
) -> None:
    batch = put_batch(studio, NUM_LINES)

    endings = [work(storage_settings, failpoint) for _ in range(NUM_DEATHS)]
    assert endings == [-signal.SIGKILL] * NUM_DEATHS
    assert work(storage_settings, "") == 0
    studio.drain()

    jobs = jobs_of(studio, batch)
    assert Counter(job.id for job in jobs) == Counter(child_id(batch.id, n + 1) for n in range(NUM_LINES))
    assert Counter(job.metadata["custom_id"] for job in jobs) == Counter(f"clip {n + 1}" for n in range(NUM_LINES))
    assert {job.state for job in jobs} == {JobState.SUCCEEDED}
    ended = studio.record(batch)
    assert (ended.state, ended.children.succeeded, ended.children.ended) == (JobState.SUCCEEDED, NUM_LINES, NUM_LINES)
    assert studio.jobs.audit_counters() == ()
