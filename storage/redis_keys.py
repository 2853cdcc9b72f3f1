"""Every key of the state database; nothing else spells one. The Lua scripts receive this table.

All keys share one hash tag, so that every script touches one slot should the state ever live in a cluster.
Keys are built from our own ids, tenant names and hashes, never from a caller's words.
"""

from __future__ import annotations

from storage.jobs import JobId, Lane, TenantId

FAMILIES = {
    "job": "hash: the job's record",
    "live": "hash per job: item -> L<fence>|<worker> (leased) or W (waits for its retry)",
    "results": "hash per job: item -> D<fence>... (done) or X<fence> (failed for good)",
    "tries": "hash per job: item -> attempts:suspicions:fence of the last retry; only items that went back once",
    "ready": "list per lane and job: items that may be claimed, next first; exists only while it has items",
    "parked": "list per lane and job: what `ready` would hold if the job were not paused",
    "tenants": "list per lane and class: the tenants with claimable work, next first",
    "line": "list per lane, class and tenant: the jobs with claimable work, next first",
    "deficit": "hash per lane and class: tenant -> audio ms it may still take in this turn",
    "claims": "string per claim call: job|item|fence it was given, for 20 s, to answer a repeated call",
    "admission": "hash per tenant: jobs and expected audio ms held by unfinished jobs",
    "flow": "hash per class: expected audio ms that came in and went out since the beginning",
    "worker": "hash per worker name: lease -> incarnation",
    "jobs": "sorted set per tenant: every job id, in order of the ids",
    "idempotency": "string per tenant and key: job id and fingerprint, for 24 hours",
    "tombstone": "string per deleted job: its tenant, for 30 days",
    "events": "stream per job, the last 500 or so",
}
SINGLES = {
    "total": "hash: admission of all tenants together",
    "leases": "sorted set: job|item|fence -> expiry in Unix ms",
    "retries": "sorted set: job|item -> due time in Unix ms",
    "deadlines": "sorted set: job -> deadline in Unix ms",
    "retention": "sorted set: tenant|job -> end of retention in Unix ms",
    "active": "set: jobs that have not ended",
    "counters": "hash: lane -> claimable items",
    "turns": "hash: lane -> claims taken while both classes had work",
    "drain": "hash: decaying sum of finished audio ms, and when it was last touched",
    "fence": "counter: the last fence given out",
}


class RedisKeys:
    def __init__(self, prefix: str) -> None:
        self.root = f"{{{prefix}}}"

    def job(self, job: JobId) -> str:
        return self._family("job", job)

    def results(self, job: JobId) -> str:
        return self._family("results", job)

    def live(self, job: JobId) -> str:
        return self._family("live", job)

    def tries(self, job: JobId) -> str:
        return self._family("tries", job)

    def events(self, job: JobId) -> str:
        return self._family("events", job)

    def tombstone(self, job: JobId) -> str:
        return self._family("tombstone", job)

    def ready(self, lane: Lane, job: JobId) -> str:
        return self._family("ready", lane, job)

    def parked(self, lane: Lane, job: JobId) -> str:
        return self._family("parked", lane, job)

    def jobs(self, tenant: TenantId) -> str:
        return self._family("jobs", tenant)

    def flow(self, job_class: str) -> str:
        return self._family("flow", job_class)

    def idempotency(self, tenant: TenantId, key_sha256: str) -> str:
        return self._family("idempotency", tenant, key_sha256)

    def admission(self, tenant: TenantId) -> str:
        return self._family("admission", tenant)

    def single(self, name: str) -> str:
        """A key of which there is one; `name` is one of `SINGLES`."""
        if name not in SINGLES:
            raise KeyError(name)
        return f"{self.root}:{name}"

    def lua_table(self) -> str:
        """The same keys as a Lua table `K`: families end in a colon, singles are complete."""
        rows = [f"{name} = '{self.root}:{name}:'" for name in FAMILIES]
        rows += [f"{name} = '{self.root}:{name}'" for name in SINGLES]
        return "local K = {\n  " + ",\n  ".join(rows) + ",\n}\n"

    def _family(self, name: str, *parts: str) -> str:
        return ":".join((self.root, name, *parts))
