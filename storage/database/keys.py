"""Every key of jobs in the state database, and the root of all keys; nothing else spells one.

The names here and in the modules beside it are those that the functions in the server know. All keys share one hash
tag, so that every function touches one slot should the state ever live in a cluster.
Keys are built from our own ids, tenant names and hashes, never from a caller's words.
"""

from __future__ import annotations

from storage.ids import JobId, TenantId, UploadId, WorkQueue

FAMILIES = {
    "job": "hash: the job's record",
    "live": "hash per job: item -> L<fence>|<worker> (leased; A... if alone), W (for its retry) or S (for its time)",
    "results": "hash per job: item -> D<fence>... (done) or X<fence> (failed for good)",
    "reuse": "string per tenant and content of a segment: job:index:fence of the newest that has it",
    "takes": "hash per job: item -> take in place:highest number; item:n -> result of another; only if there are any",
    "edits": "hash per job: item -> the edit in force; item:n -> the one that another take was made from",
    "tries": "hash per job: item -> attempts:suspicions:last fence; rejected_attempts:n, rejected:n (takes)",
    "ready": "list per queue and job: items that may be claimed, next first; exists only while it has items",
    "parked": "list per queue and job: what `ready` would hold if the job were not paused",
    "voice_slot_waiters": "sorted set per queue: job|item that waits for a voice slot -> since when, in Unix ms",
    "reading": "set per tenant: job|plan|fence of its documents and long texts that are being read",
    "unread": "sorted set per tenant: job whose document or long text waits for one of these to be read -> since when",
    "tenants": "list per queue and class: the tenants with claimable work, next first",
    "line": "list per queue, class and tenant: the jobs with claimable work, next first",
    "waiting": "sorted set per queue and class: job with claimable work -> its last claim, or since when it has any",
    "deficit": "hash per queue and class: tenant -> audio ms it may still take in this turn",
    "newcomers": "sorted set per queue and class: tenant -> inf while its turn is ahead of time, or a number of turns",
    "claims": "string per claim call: job|item|fence|wait in ms of each item given, for 20 s, to answer it again",
    "awake": "hash per queue whose workers claim several items at a time: until when (Unix ms) one "
    "looks for items by itself (looking, and its name), and one may be woken by the last ticket (rung)",
    "admission": "hash per tenant: jobs and expected audio ms held by unfinished jobs",
    "ends": "hash per tenant, and `*` for all: fading sums of jobs that ended, their audio and the time it took",
    "quotas": "hash per tenant: its own limits by name, where they are not those for all",
    "quota_told": "string per tenant, limit and day (UTC, days since 1970): that it refused was told, for a day",
    "usage": "hash per tenant and day (UTC, days since 1970): key id:what -> how much, for 400 days",
    "live_streams": "sorted set per tenant: stream of live speech that is open -> when that is over, in Unix ms",
    "live_streams_told": "string per API process: the number of its last report on its streams",
    "worker_slots": "hash per queue: worker name -> its slots and, in Unix ms, when that is over",
    "worker": "hash per worker name: lease -> boot_id",
    "jobs": "sorted set per tenant: every job id, in order of the ids",
    "batches": "sorted set per tenant: every batch's id, in order of the ids",
    "children": "sorted set per batch: ids of the jobs that were made of its lines, in order of the ids",
    "idempotency": "string per tenant and key: job id and fingerprint, for 24 hours",
    "tombstone": "string per deleted job: its tenant, for 30 days",
    "events": "stream per job, the last 500 or so",
}
SINGLES = {
    "layout": "string: the number of the layout that all these keys have",
    "mark": "hash: state (drawn once) and position (grows); the object store has both as well",
    "awaited": "string: written before replicas are waited for, so that there is something to wait for",
    "held": "string: why nothing may be claimed: Redis lost something and was not reconciled yet",
    "total": "hash: admission of all tenants together",
    "recalled": "hash: cancelled batch -> the last of its jobs that was cancelled as well; until all of them are",
    "leases": "sorted set: job|item|fence -> expiry in Unix ms",
    "retries": "sorted set: job|item -> due time in Unix ms",
    "deadlines": "sorted set: job -> deadline in Unix ms",
    "scheduled": "sorted set: job whose time has not come -> that time in Unix ms",
    "retention": "sorted set: tenant|job -> end of retention in Unix ms",
    "active": "set: jobs that have not ended",
    "counters": "hash: queue -> claimable items; no entry while there are none",
    "flow": "hash: queue:class:in and queue:class:out -> expected audio ms since the beginning",
    "audit": "hash: the audit under way: its epoch, and sums by name",
    "turns": "hash: queue -> claims taken while both classes had work; queue:class -> turns that tenants had in order",
    "throughput": "hash: queue:audio_ms, :busy_ms, :engine_ms (fading sums of audio, time, all in engines), :at_ms",
    "fence": "counter: the last fence given out",
    "worker_registry": "hash: worker name -> what it last said of itself, as JSON",
    "heard": "sorted set: worker name -> when it was last heard of, in Unix ms",
    "draining": "hash: worker that shall claim nothing -> since when, in Unix ms",
    "swaps": "hash: queue -> worker that is on the way to it (empty: none could load its model), since and until when",
    "dead": "stream: items that were given up, the last 10,000 or so",
    "fleet_history": "list: what the fleet was in each of the last 1,440 minutes, as JSON, the newest last",
    "audited": "string: what the last complete audit found, as JSON",
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

    def takes(self, job: JobId) -> str:
        return self._family("takes", job)

    def edits(self, job: JobId) -> str:
        return self._family("edits", job)

    def tries(self, job: JobId) -> str:
        return self._family("tries", job)

    def reuse(self, tenant: TenantId, reuse_id: str) -> str:
        return self._family("reuse", tenant, reuse_id)

    def events(self, job: JobId) -> str:
        return self._family("events", job)

    def tombstone(self, job: JobId) -> str:
        return self._family("tombstone", job)

    def ready(self, queue: WorkQueue, job: JobId) -> str:
        return self._family("ready", queue, job)

    def parked(self, queue: WorkQueue, job: JobId) -> str:
        return self._family("parked", queue, job)

    def awake(self, queue: WorkQueue) -> str:
        return self._family("awake", queue)

    def jobs(self, tenant: TenantId) -> str:
        return self._family("jobs", tenant)

    def batches(self, tenant: TenantId) -> str:
        return self._family("batches", tenant)

    def children(self, batch: JobId) -> str:
        return self._family("children", batch)

    def idempotency(self, tenant: TenantId, key_sha256: str) -> str:
        return self._family("idempotency", tenant, key_sha256)

    def admission(self, tenant: TenantId) -> str:
        return self._family("admission", tenant)

    def quotas(self, tenant: TenantId) -> str:
        return self._family("quotas", tenant)

    def upload(self, upload: UploadId) -> str:
        return self._family("upload", upload)

    def usage(self, tenant: TenantId, day: int) -> str:
        """day: since 1970, UTC."""
        return self._family("usage", tenant, str(day))

    def single(self, name: str) -> str:
        """A key of which there is one; `name` is one of `SINGLES`."""
        if name not in SINGLES:
            raise KeyError(name)
        return f"{self.root}:{name}"

    def _family(self, name: str, *parts: str) -> str:
        return ":".join((self.root, name, *parts))
