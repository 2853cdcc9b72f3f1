"""Objects of jobs that are not there any more."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from storage.errors import JobGone, JobNotFound
from storage.ids import JobId, TenantId
from storage.job_store.store import JobStore
from storage.objects import keys
from storage.objects.store import ArtifactStore, ObjectEntry

logger = logging.getLogger(__name__)

ORPHAN_AGE_S = 24 * 3600.0

_INPUTS = (keys.input_text, keys.voice_list, keys.speaker_embedding, keys.reference_recording)
"""What an API stores before it submits a job."""


class OrphanSweep:
    """Removes a deleted job's objects a day after the last write. Likewise an input without a job: an API process that
    died before the job was accepted leaves it.

    Finished work of a job that Redis does not know is only reported: Redis may have lost data.
    """

    def __init__(self, jobs: JobStore, artifacts: ArtifactStore) -> None:
        self._jobs = jobs
        self._artifacts = artifacts

    def run(self) -> None:
        """Raises `StoreUnavailable`."""
        for folder, objects in self._old_folders(keys.JOBS, lambda entry: "/".join(entry.key.split("/")[:3]) + "/"):
            self._sweep_folder(folder, objects)
        for folder, objects in self._old_folders(keys.DELIVERED, lambda entry: entry.key.rsplit("/", 2)[0] + "/"):
            tenant, job = keys.delivered_for(folder)
            try:
                self._jobs.get(tenant, job)
            except JobGone:
                self._remove(folder)
            except JobNotFound:
                _report_unknown(job, objects)

    def _sweep_folder(self, folder: str, objects: Sequence[ObjectEntry]) -> None:
        """A job's own folder: it goes once the job is gone."""
        _, tenant_name, job_name, _ = folder.split("/")
        tenant, job = TenantId(tenant_name), JobId(job_name)
        try:
            self._jobs.get(tenant, job)
        except JobGone:
            self._remove(folder)
            return
        except JobNotFound:
            inputs = [input_of(tenant, job) for input_of in _INPUTS]
            if all(entry.key in inputs for entry in objects):
                self._remove(folder)
            else:
                _report_unknown(job, objects)
            return

    def _remove(self, folder: str) -> None:
        removed = self._artifacts.delete_prefix(folder)
        logger.info("orphaned objects removed", extra={"prefix": folder, "objects": removed})

    def _old_folders(
        self, root: str, folder_of: Callable[[ObjectEntry], str]
    ) -> Iterator[tuple[str, list[ObjectEntry]]]:
        """Those to which nothing was added for a day."""
        for folder, entries in groupby(self._artifacts.list(root), key=folder_of):
            objects = list(entries)
            if time.time() - max(entry.modified_at_s for entry in objects) >= ORPHAN_AGE_S:
                yield folder, objects


def _report_unknown(job: JobId, objects: Sequence[ObjectEntry]) -> None:
    logger.warning("objects of an unknown job", extra={"job_id": job, "objects": len(objects)})
