"""Where in the object store a job's objects lie, taken together.

Nearly all of them are under the job's own prefix. The finished files of a narration that names a destination are under
that: found by its spec, or, once that is forgotten, by the job's id in their keys.
"""

from __future__ import annotations

from rhapsode.contract.jobs.output import Destination
from storage.errors import JobGone, JobNotFound
from storage.ids import JobId, TenantId
from storage.job_store.store import JobStore
from storage.jobs.record import JobSpec
from storage.narration.spec import NarrationSpec
from storage.objects import keys


def destination_of(spec: JobSpec) -> Destination | None:
    """Where the caller wants the finished files; None for among the job's other objects."""
    return spec.request.output.destination if isinstance(spec, NarrationSpec) else None


def folders_of(jobs: JobStore, tenant: TenantId, job: JobId) -> tuple[str, ...]:
    """Every prefix that a job's objects lie under, to be asked for before the job is deleted.

    Of a job that is deleted already only its own: if there are finished files elsewhere, the janitor's sweep finds
    them. Raises `StoreUnavailable`.
    """
    own = keys.job_prefix(tenant, job)
    try:
        destination = destination_of(jobs.get(tenant, job).spec)
    except (JobNotFound, JobGone):
        return (own,)
    return (own,) if destination is None else (keys.all_artifacts_prefix(tenant, job, destination), own)
