"""The audit of stored bytes: exact while everything changes in between, and it finds what is wrong."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
import redis

from storage.errors import AuditOvertaken
from storage.ids import (
    DictionaryId,
    JobId,
    UploadId,
    VoiceId,
    new_dictionary_id,
    new_upload_id,
)
from storage.job_store.counter_audit import Difference
from storage.job_store.store import JobStore
from storage.pronunciations.store import NewVersion, PronunciationStore
from storage.tenants.stored_bytes_audit import StoredBytesAudit
from storage.tenants.upload_ledger import UploadLedger
from tests.storage.job_store.job_driver import ALICE, BOB, submission
from tests.storage.voices.voice_world import VoiceWorld, content_of

RECORDINGS = ("hello", "good morning")


class Tenant:
    """Alice, who stores and deletes whatever comes to her mind."""

    def __init__(self, client: redis.Redis, jobs: JobStore, seed: int) -> None:
        self.random = random.Random(seed)
        self.jobs = jobs
        self.world = VoiceWorld(client)
        self.caching = self.world.start_job()
        self.uploads = UploadLedger(client)
        self.dictionaries = PronunciationStore(client)
        self.there: dict[str, list[str]] = {"job": [], "upload": [], "dictionary": []}

    def act(self) -> None:
        acts: tuple[Callable[[], object], ...] = (
            *(self.submit, self.end_job, self.order_upload, self.settle_upload),
            *(self.add_rules, self.drop_rules, self.add_voice, self.cache_voice, self.cache_voice, self.drop_voice),
            *(self.replace_voice, self.drop_cache),
        )
        self.random.choice(acts)()

    def submit(self) -> None:
        wanted = replace(submission(audio_ms=1_000), stored_bytes=self.random.randint(0, 99))
        self.jobs.submit(wanted)
        self.there["job"].append(wanted.id)

    def end_job(self) -> None:
        if job := self._any("job"):
            self.jobs.cancel(ALICE, JobId(job))
            self.jobs.delete(ALICE, JobId(job))

    def order_upload(self) -> None:
        upload = new_upload_id()
        self.uploads.order(ALICE, upload, self.random.randint(1, 99))
        self.there["upload"].append(upload)

    def settle_upload(self) -> None:
        if upload := self._any("upload"):
            self.uploads.settle(ALICE, UploadId(upload), self.random.choice((0, 0, 7)))

    def add_rules(self) -> None:
        version = NewVersion(str(self.random.random()), 1, self.random.randint(1, 99), "0" * 64)
        if self.there["dictionary"] and self.random.random() < 0.5:
            chosen = DictionaryId(self.random.choice(self.there["dictionary"]))
            self.dictionaries.add_version(ALICE, chosen, version)
            return
        dictionary = new_dictionary_id()
        self.dictionaries.create(ALICE, dictionary, "Names", version)
        self.there["dictionary"].append(dictionary)

    def drop_rules(self) -> None:
        if dictionary := self._any("dictionary"):
            self.dictionaries.delete(ALICE, DictionaryId(dictionary))

    def add_voice(self) -> None:
        # Few recordings, so that voices share their caches.
        self.world.create(f"voice {self.random.randint(0, 9)}", self.random.choice(RECORDINGS))

    def replace_voice(self) -> None:
        if voice := self._voice():
            self.world.replace(self.world.voices[voice], self.random.choice(RECORDINGS))

    def cache_voice(self) -> None:
        if voice := self._voice():
            record = self.world.voices[voice]
            self.world.rebuild(record, self.caching)
            builder = self.world.claim(content_of(record), self.caching)
            if builder.is_mine:
                self.world.put(builder)
                self.world.commit(builder)

    def drop_cache(self) -> None:
        if voice := self._voice():
            self.world.store.forget_caches(ALICE, voice)

    def drop_voice(self) -> None:
        if voice := self._voice():
            self.world.delete(voice)

    def _any(self, kind: str) -> str | None:
        there = self.there[kind]
        return there.pop(self.random.randrange(len(there))) if there else None

    def _voice(self) -> VoiceId | None:
        return self.random.choice(sorted(self.world.voices)) if self.world.voices else None


@pytest.mark.parametrize("seed", range(12))
def test_an_audit_among_changes_is_exact(redis_client: redis.Redis, store: JobStore, seed: int) -> None:
    tenant = Tenant(redis_client, store, seed)
    for _ in range(15):
        tenant.act()
        tenant.add_voice()
        tenant.cache_voice()

    found: list[Difference] = []
    for step in StoredBytesAudit(redis_client).steps(ALICE, batch=1 + seed % 3):
        found += step
        for _ in range(3):
            tenant.act()

    assert found == []
    assert redis_client.hgetall("{rhapsode}:stored:alice")


def test_a_counter_that_is_wrong_is_found_and_left_alone(redis_client: redis.Redis, store: JobStore) -> None:
    store.submit(replace(submission(), stored_bytes=100))
    UploadLedger(redis_client).order(BOB, new_upload_id(), 5)
    redis_client.hincrby("{rhapsode}:stored:alice", "jobs", 11)
    redis_client.hset("{rhapsode}:stored:bob", "voices", 3)

    drift = StoredBytesAudit(redis_client).audit()

    assert drift.differences == (
        Difference("stored_bytes:jobs:alice", 100, 111),
        Difference("stored_bytes:voices:bob", 0, 3),
    )
    assert StoredBytesAudit(redis_client).audit() == drift


def test_another_audit_of_the_tenant_takes_over(redis_client: redis.Redis, store: JobStore) -> None:
    store.submit(replace(submission(), stored_bytes=100))
    first = StoredBytesAudit(redis_client).steps(ALICE, 1)
    next(first)

    assert StoredBytesAudit(redis_client).audit().differences == ()
    with pytest.raises(AuditOvertaken):
        list(first)


def test_who_stores_nothing_is_forgotten(redis_client: redis.Redis, store: JobStore) -> None:
    upload = new_upload_id()
    UploadLedger(redis_client).order(ALICE, upload, 5)
    UploadLedger(redis_client).settle(ALICE, upload, 0)

    assert StoredBytesAudit(redis_client).audit().differences == ()
    assert not redis_client.exists("{rhapsode}:storers", "{rhapsode}:stored:alice")
