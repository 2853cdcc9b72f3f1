"""A voice store with everybody around it played by hand: callers, builders, jobs, leases and the object store.

Every action is one call of the real store on the real server; what should be true afterwards is kept in plain
dictionaries, and `check` compares.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import pytest
import redis

from rhapsode.contract.voices.modes import CacheMode
from rhapsode.contract.voices.names import name_key
from storage.database.keys import RedisKeys, VoiceKeys
from storage.errors import BuildRefused, VoiceChanged, VoiceGone, VoiceNameTaken
from storage.ids import ContentKey, JobId, TenantId, VoiceId, new_job_id, new_voice_id
from storage.jobs.record import JobError
from storage.jobs.work_items import Lease
from storage.narration.voice_reference import SourceKind, VoiceSource, content_key
from storage.objects import keys
from storage.voices.records import (
    CacheArtifact,
    CacheRequest,
    CacheState,
    CacheTarget,
    ClaimStatus,
    Consent,
    NewRecording,
    RequestOutcome,
    VoiceCreation,
    VoiceRecord,
)
from storage.voices.store import VoiceStore
from tests.storage.audio.decoded import members_of

ALICE = TenantId("alice")
BOB = TenantId("bob")
MODEL = "small"
MODEL_REVISION = "r1"
CONSENT = Consent("I am the speaker", "alice", 1_800_000_000_000)
BROKEN = JobError("unsupported_media", "no speech in it")


def source_of(recording: str, key: str) -> VoiceSource:
    data = recording.encode()
    return VoiceSource(SourceKind.RECORDING, key, hashlib.sha256(data).hexdigest(), len(data), "audio/wav")


def new_voice(name: str = "Ada", recording: str = "hello", tenant: TenantId = ALICE) -> VoiceCreation:
    voice = new_voice_id()
    source = source_of(recording, keys.voice_source(tenant, voice, "1"))
    return VoiceCreation(id=voice, tenant=tenant, name=name, source=source, ref_text="Hello.", consent=CONSENT)


def content_of(record: VoiceRecord, revision: str = MODEL_REVISION) -> ContentKey:
    mode = CacheMode.IN_CONTEXT
    return content_key(record.tenant, record.source.sha256, record.ref_text, mode, MODEL, revision)


def request_for(record: VoiceRecord, revision: str = MODEL_REVISION) -> CacheRequest:
    target = CacheTarget(record.id, MODEL, CacheMode.IN_CONTEXT)
    return CacheRequest(target, record.revision, revision, content_of(record, revision))


@dataclass
class Builder:
    """An item under lease that builds one content."""

    lease: Lease
    content: ContentKey
    is_mine: bool = False
    stored: CacheArtifact | None = None


@dataclass
class VoiceWorld:
    """voices: those that should be there. objects: key -> bytes. builders: all that ever claimed."""

    client: redis.Redis
    voices: dict[VoiceId, VoiceRecord] = field(default_factory=dict)
    deleted: set[VoiceId] = field(default_factory=set)
    objects: dict[str, bytes] = field(default_factory=dict)
    jobs: list[JobId] = field(default_factory=list)
    builders: list[Builder] = field(default_factory=list)
    builds_started: dict[ContentKey, int] = field(default_factory=dict)
    num_uploads: int = 1
    fence: int = 0

    def __post_init__(self) -> None:
        self.store = VoiceStore(self.client)
        self.job_keys = RedisKeys("rhapsode")
        self.keys = VoiceKeys("rhapsode")

    # Callers

    def create(self, name: str, recording: str) -> VoiceRecord | None:
        wanted = new_voice(name, recording)
        is_taken = any(name_key(each.name) == name_key(name) for each in self.voices.values())
        if is_taken:
            with pytest.raises(VoiceNameTaken):
                self.store.create(wanted)
            return None
        self.objects[wanted.source.key] = recording.encode()
        record = self.store.create(wanted)
        assert record == self.store.create(wanted)
        self.voices[record.id] = record
        return record

    def replace(self, seen: VoiceRecord, recording: str) -> None:
        """A re-upload by somebody who saw the voice as it was at `seen`."""
        self.num_uploads += 1
        source = source_of(recording, keys.voice_source(ALICE, seen.id, str(self.num_uploads)))
        change = NewRecording(seen.revision, source, seen.ref_text, CONSENT)
        current = self.voices.get(seen.id)
        if current is None:
            with pytest.raises(VoiceGone):
                self.store.replace(ALICE, seen.id, change)
        elif current.revision != seen.revision:
            with pytest.raises(VoiceChanged):
                self.store.replace(ALICE, seen.id, change)
        else:
            self.objects[source.key] = recording.encode()
            record = self.store.replace(ALICE, seen.id, change)
            assert record == self.store.replace(ALICE, seen.id, change)
            assert (record.revision, record.source) == (seen.revision + 1, source)
            self.voices[seen.id] = record

    def delete(self, voice: VoiceId) -> None:
        self.store.delete(ALICE, voice)
        self.store.delete(ALICE, voice)
        self.voices.pop(voice, None)
        self.deleted.add(voice)

    def request(self, seen: VoiceRecord, job: JobId) -> RequestOutcome:
        return self._checked(seen, job, self.store.request_caches(ALICE, job, [request_for(seen)])[0])

    def rebuild(self, seen: VoiceRecord, job: JobId) -> RequestOutcome:
        return self._checked(seen, job, self.store.request_caches(ALICE, job, [request_for(seen)], rebuild=True)[0])

    def _checked(self, seen: VoiceRecord, job: JobId, outcome: RequestOutcome) -> RequestOutcome:
        if not self.is_under_way(job):
            assert outcome is RequestOutcome.ENDED
        elif seen.id not in self.voices:
            assert outcome is RequestOutcome.MISSING
        elif self.voices[seen.id].revision != seen.revision:
            assert outcome is RequestOutcome.MOVED
        else:
            assert outcome.value in set(CacheState)
        return outcome

    # Jobs and leases, of which the scripts read a state, a member and a result

    def start_job(self) -> JobId:
        job = new_job_id()
        self.client.hset(self.job_keys.of("job", job), "state", "running")
        self.jobs.append(job)
        return job

    def end_job(self, job: JobId) -> None:
        self.client.hset(self.job_keys.of("job", job), "state", "cancelled")

    def is_under_way(self, job: JobId) -> bool:
        return self.client.hget(self.job_keys.of("job", job), "state") == "running"

    def lease(self, job: JobId) -> Lease:
        self.fence += 1
        lease = Lease(job, ALICE, "0", self.fence)
        self.client.zadd(self.job_keys.single("leases"), {lease_name(lease): 1})
        return lease

    def lose(self, lease: Lease) -> None:
        self.client.zrem(self.job_keys.single("leases"), lease_name(lease))

    def give_up(self, lease: Lease) -> None:
        """The item is out of attempts."""
        self.lose(lease)
        self.client.hset(self.job_keys.of("results", lease.job), lease.item, f"X{lease.fence}")

    def is_live(self, lease: Lease) -> bool:
        return self.client.zscore(self.job_keys.single("leases"), lease_name(lease)) is not None

    # Builders

    def claim(self, content: ContentKey, job: JobId) -> Builder:
        builder = Builder(self.lease(job), content)
        claim = self.store.claim_build(content, builder.lease)
        if claim.status is ClaimStatus.BUILD:
            assert self.store.claim_build(content, builder.lease).status is ClaimStatus.BUILD
            builder.is_mine = True
            self.builds_started[content] = self.builds_started.get(content, 0) + 1
        if claim.status is ClaimStatus.READY:
            assert claim.artifact is not None
            assert self.objects[claim.artifact.key] == content.encode()
        self.builders.append(builder)
        return builder

    def put(self, builder: Builder) -> None:
        fence = builder.lease.fence
        data = builder.content.encode()
        builder.stored = CacheArtifact(
            keys.voice_cache(ALICE, builder.content, fence), hashlib.sha256(data).hexdigest(), len(data), fence
        )
        self.objects[builder.stored.key] = data

    def commit(self, builder: Builder) -> bool:
        """Whether the result was taken; what was refused is deleted, as a worker does."""
        assert builder.stored is not None
        try:
            self.store.commit_build(builder.content, builder.lease, builder.stored, 5)
            self.store.commit_build(builder.content, builder.lease, builder.stored, 5)
        except BuildRefused:
            self.objects.pop(builder.stored.key, None)
            return False
        return True

    def fail(self, builder: Builder) -> None:
        try:
            self.store.fail_build(builder.content, builder.lease, BROKEN)
            self.store.fail_build(builder.content, builder.lease, BROKEN)
        except BuildRefused:
            return

    def sweep(self) -> None:
        """Delete what has been discarded, whether or not its time has come."""
        if garbage := members_of(self.client, self.keys.single("garbage")):
            self.client.zadd(self.keys.single("garbage"), dict.fromkeys(garbage, 0))
        due = self.store.discarded()
        for key in due.values():
            self.objects.pop(key, None)
        self.store.forget_discarded(list(due))

    # What must hold

    def check(self) -> None:
        """0 resurrected voices, 0 caches of an old revision, every version served is there and is what it should be."""
        for voice in self.deleted:
            with pytest.raises(VoiceGone):
                self.store.get(ALICE, voice)
            assert not self.client.exists(self.keys.of("caches", voice))
        for voice, expected in self.voices.items():
            assert self.store.get(ALICE, voice) == expected
            assert expected.source.key in self.objects
        names = self.client.hgetall(self.keys.of("names", ALICE))
        assert names == {name_key(record.name): record.id for record in self.voices.values()}
        page = self.store.list_caches(ALICE, lambda _: True, None, 100)
        for cache in page.entries:
            assert cache.content == content_of(self.voices[cache.target.voice])
            if cache.artifact is not None:
                assert self.objects[cache.artifact.key] == cache.content.encode()
            assert (cache.state is CacheState.READY) <= (cache.artifact is not None)
        self._check_builds({cache.content for cache in page.entries})

    def _check_builds(self, listed: set[ContentKey]) -> None:
        root = self.keys.of("build", ContentKey(""))
        built = {key.removeprefix(root) for key in self.client.scan_iter(f"{root}*")}
        assert built == listed

    def check_no_leak(self) -> None:
        """After every builder has said its last word and the sweep has run, each object belongs to a voice."""
        self.sweep()
        page = self.store.list_caches(ALICE, lambda _: True, None, 100)
        wanted = {record.source.key for record in self.voices.values()}
        wanted |= {cache.artifact.key for cache in page.entries if cache.artifact is not None}
        assert set(self.objects) == wanted


def lease_name(lease: Lease) -> str:
    return f"{lease.job}|{lease.item}|{lease.fence}"
