"""Every key of the state database; no other module spells one.

The names here are those that the functions in the server know. All keys share one hash
tag, so that every function touches one slot should the state ever live in a cluster.
Keys are built from our own ids, tenant names and hashes, never from a caller's words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class RedisKeys:
    """Keys of jobs, tenants and workers. families: a key for each value of its parts. singles: one key each."""

    subroot = ""
    families: ClassVar[Mapping[str, str]] = {
        "job": "hash: the job's record",
        "live": "hash per job: item -> L<fence>|<worker> (leased; A... if alone), W (waits to retry) or S (scheduled)",
        "results": "hash per job: item -> D<fence>... (done) or X<fence> (failed for good)",
        "reuse": "string per tenant and content of a segment: job:index:fence of the newest that has it",
        "takes": "hash per job: item -> take in place:highest number; item:n -> result of another; only if any",
        "edits": "hash per job: item -> the edit in force; item:n -> the one that another take was made from",
        "tries": "hash per job: item -> attempts:suspicions:last fence; rejected_attempts:n, rejected:n (takes)",
        "ready": "list per queue and job: items that may be claimed, next first; exists only while it has items",
        "parked": "list per queue and job: what `ready` would hold if the job were not paused",
        "voice_slot_waiters": "sorted set per queue: job|item that waits for a voice slot -> since when, in Unix ms",
        "reading": "set per tenant: job|plan|fence of its documents and long texts that are being read",
        "unread": "sorted set per tenant: job whose document or long text waits to be read -> since when",
        "tenants": "list per queue and class: the tenants with claimable work, next first",
        "line": "list per queue, class and tenant: the jobs with claimable work, next first",
        "waiting": "sorted set per queue and class: job with claimable work -> its last claim, or since when it has it",
        "deficit": "hash per queue and class: tenant -> audio ms it may still take in this turn",
        "newcomers": "sorted set per queue and class: tenant -> inf while its turn comes early, or a number of turns",
        "claims": "string per claim call: job|item|fence|wait in ms of each item given, for 20 s, to answer it again",
        "awake": "hash per queue whose workers claim several items at a time. looking: Unix ms until which one polls, "
        "with its name. rung: Unix ms until which the last ticket may wake one.",
        "admission": "hash per tenant: jobs and expected audio ms held by unfinished jobs",
        "ends": "hash per tenant, and `*` for all: fading sums of jobs that ended, their audio and the time it took",
        "quotas": "hash per tenant: its own limits by name, where they are not those for all",
        "quota_told": "string per tenant, limit and day (UTC, days since 1970): its refusal was reported, for a day",
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
    singles: ClassVar[Mapping[str, str]] = {
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
        "turns": "hash: queue -> claims taken while both classes had work; queue:class -> turns of tenants in order",
        "throughput": "hash: queue:audio_ms, :busy_ms, :engine_ms (fading sums of audio, time, all in engines), :at_ms",
        "fence": "counter: fences given out; a fence is this and the Unix time in microseconds",
        "worker_registry": "hash: worker name -> its last report, as JSON",
        "heard": "sorted set: worker name -> its last report, in Unix ms",
        "draining": "hash: worker that shall claim nothing -> since when, in Unix ms",
        "swaps": "hash: queue -> worker that loads its model (empty: none could), since and until when",
        "dead": "stream: items that were given up, the last 10,000 or so",
        "fleet_points": "stream: version and, as JSON, a minute of the fleet; id: its Unix ms; a day, up to 1,440",
        "fleet_history": "list of version 0.2 and before, which the first of `fleet_points` deletes",
        "audited": "string: what the last complete audit found, as JSON",
    }

    def __init__(self, prefix: str) -> None:
        self.root = f"{{{prefix}}}{self.subroot}"

    def of(self, family: str, *parts: str) -> str:
        """Raises `KeyError` for a name that is not in `families`."""
        if family not in self.families:
            raise KeyError(family)
        return ":".join((self.root, family, *parts))

    def single(self, name: str) -> str:
        """Raises `KeyError` for a name that is not in `singles`."""
        if name not in self.singles:
            raise KeyError(name)
        return f"{self.root}:{name}"


class WebhookKeys(RedisKeys):
    """Keys of webhooks."""

    subroot = ":w"
    families: ClassVar[Mapping[str, str]] = {
        "endpoint": "hash: the endpoint's record",
        "endpoints": "sorted set per tenant: every endpoint id, in order of the ids",
        "routes": "hash per tenant: enabled endpoint -> the events it wants, comma-separated, or *",
        "gone": "string per deleted endpoint: its tenant, for 7 days",
        "secrets": "hash per tenant: the secrets that sign what goes to URLs of jobs",
        "delivery": "hash: one event for one target; expires a while after its end",
        "attempts": "list per delivery: its attempts as JSON, oldest first",
        "log": "sorted set per target: its deliveries by the time of their event",
        "ended": "sorted set per target: its deliveries that ended, by when",
        "waiting": "sorted set per target: deliveries that wait for an attempt -> when it is due",
        "flying": "sorted set per target: delivery|fence of the attempts under way -> end of the lease",
        "target": "hash per target: whether it ever took a delivery, and its failures since the last it took",
        "of_job": "sorted set per job: its deliveries by the time of their event",
        "holder": "hash per worker name: delivery|fence -> boot_id",
    }
    singles: ClassVar[Mapping[str, str]] = {
        "due": "sorted set: target that took the last delivery -> when the next is due",
        "suspects": "sorted set: target that did not, or took none yet -> when the next is due",
        "flights": "sorted set: delivery|fence of every attempt under way -> end of the lease",
        "called": "string, there while a worker was called by a ticket and has not found yet that nothing more is due",
        "turn": "counter: what became due, of targets and of deliveries",
        "fence": "counter: fences given out; a fence is this and the Unix time in microseconds",
    }


class VoiceKeys(RedisKeys):
    """Keys of voices and their caches."""

    subroot = ":v"
    families: ClassVar[Mapping[str, str]] = {
        "voice": "hash: the voice's record",
        "names": "hash per tenant: folded name -> voice",
        "voices": "sorted set per tenant: every voice id, in order of the ids",
        "gone": "string per deleted voice: its tenant, for 7 days",
        "caches": "hash per voice: mode|model -> content",
        "cache_list": "sorted set per tenant: voice|mode|model of every cache, in this order",
        "build": "hash per content: what is served and what is being done about it; exists while it has users",
        "users": "set per content: voice|mode|model of the caches that are of it",
    }
    singles: ClassVar[Mapping[str, str]] = {
        "garbage": "sorted set: k|<object key> or c|tenant|content|fence -> when it may be deleted, Unix ms"
    }


class PronunciationKeys(RedisKeys):
    """Keys of pronunciation dictionaries."""

    subroot = ":pd"
    families: ClassVar[Mapping[str, str]] = {
        "dictionary": "hash: the dictionary's record, v<n> for each version",
        "dictionaries": "sorted set per tenant: every dictionary's id, in order of the ids",
    }
    singles: ClassVar[Mapping[str, str]] = {}
