"""Voices and caches, call by call."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import redis

from rhapsode.contract.voices.modes import CacheMode, IfCacheMissing
from storage.database.keys import VoiceKeys
from storage.errors import (
    BuildRefused,
    QuotaExceeded,
    VoiceChanged,
    VoiceGone,
    VoiceNameTaken,
    VoiceNotFound,
)
from storage.jobs.work_items import Lease
from storage.narration.voice_reference import VoiceReference, content_key, normalised_ref_text
from storage.voices.records import CacheState, ClaimStatus, NewRecording, RequestOutcome, VoiceRecord, VoiceUpdate
from storage.voices.store import VoiceStore
from tests.storage.voices.voice_world import (
    ALICE,
    BOB,
    BROKEN,
    CONSENT,
    MODEL,
    MODEL_REVISION,
    VoiceWorld,
    content_of,
    new_voice,
    request_for,
    source_of,
)


@pytest.fixture
def world(redis_client: redis.Redis) -> VoiceWorld:
    return VoiceWorld(redis_client)


@pytest.fixture
def store(world: VoiceWorld) -> VoiceStore:
    return world.store


@pytest.fixture
def ada(world: VoiceWorld) -> VoiceRecord:
    record = world.create("Ada", "hello")
    assert record is not None
    return record


def build(world: VoiceWorld, voice: VoiceRecord) -> int:
    """Builds the voice's cache, which somebody must have asked for; the fence."""
    builder = world.claim(content_of(voice), world.jobs[-1])
    assert builder.is_mine
    world.put(builder)
    assert world.commit(builder)
    return builder.lease.fence


def ready(world: VoiceWorld, voice: VoiceRecord) -> int:
    world.request(voice, world.start_job())
    return build(world, voice)


def test_a_voice_is_read_as_it_was_created(store: VoiceStore) -> None:
    wanted = new_voice()

    record = store.create(wanted)

    assert store.get(ALICE, wanted.id) == record
    assert (record.name, record.revision, record.source) == ("Ada", 1, wanted.source)
    assert (record.ref_text, record.consent) == ("Hello.", CONSENT)
    assert record.created_at_ms == record.updated_at_ms > 1_700_000_000_000


@pytest.mark.parametrize(("statement", "shown"), [("I agree.", "I agree."), ("", "con_1 con_2")])
def test_a_voice_that_rests_on_consents_of_a_release_before_stays_usable(
    store: VoiceStore, redis_client: redis.Redis, statement: str, shown: str
) -> None:
    record = store.create(new_voice())
    written = {"statement": statement, "actor": "alice", "at_ms": 1_800_000_000_000, "ids": ["con_1", "con_2"]}
    key = VoiceKeys("rhapsode").of("voice", record.id)
    redis_client.hset(key, mapping={"consent": json.dumps(written), "cites": "con_1 con_2"})

    assert store.get(ALICE, record.id).consent == replace(CONSENT, statement=shown, actor="alice")

    store.delete(ALICE, record.id)
    assert not redis_client.exists(key)


def test_names_are_unique_for_a_tenant_whatever_their_case_and_spelling(store: VoiceStore) -> None:
    store.create(new_voice("Zoë"))

    with pytest.raises(VoiceNameTaken):
        store.create(new_voice("ZOE\u0308"))

    found = store.find(ALICE, "zoë")
    assert found is not None
    assert found.name == "Zoë"
    assert store.find(BOB, "zoë") is None
    store.create(new_voice("Zoë", tenant=BOB))


def test_another_tenants_voice_is_no_voice(store: VoiceStore, ada: VoiceRecord) -> None:
    for call in (
        lambda: store.get(BOB, ada.id),
        lambda: store.delete(BOB, ada.id),
        lambda: store.update(BOB, ada.id, VoiceUpdate(name="Mine")),
        lambda: store.caches(BOB, ada.id),
        lambda: store.forget_caches(BOB, ada.id),
    ):
        with pytest.raises(VoiceNotFound):
            call()


def test_a_renamed_voice_frees_its_old_name(store: VoiceStore, ada: VoiceRecord) -> None:
    changed = store.update(ALICE, ada.id, VoiceUpdate(name="Grace", description="calm", metadata={"a": "b"}))

    assert (changed.name, changed.description, changed.metadata) == ("Grace", "calm", {"a": "b"})
    assert store.find(ALICE, "ada") is None
    store.create(new_voice("Ada"))
    with pytest.raises(VoiceNameTaken):
        store.update(ALICE, ada.id, VoiceUpdate(name="ADA"))


def test_a_voice_may_change_the_case_of_its_own_name(store: VoiceStore, ada: VoiceRecord) -> None:
    assert store.update(ALICE, ada.id, VoiceUpdate(name="ADA")).name == "ADA"


def test_a_deleted_voice_is_gone_and_its_name_is_free(store: VoiceStore, ada: VoiceRecord) -> None:
    store.delete(ALICE, ada.id)

    with pytest.raises(VoiceGone):
        store.get(ALICE, ada.id)
    assert store.list(ALICE, None, 10).entries == ()
    assert list(store.discarded().values()) == [ada.source.key]
    store.create(new_voice("Ada"))


def test_a_tenant_has_a_bounded_number_of_voices(redis_client: redis.Redis) -> None:
    store = VoiceStore(redis_client, max_voices=2)
    store.create(new_voice("one"))
    store.create(new_voice("two"))

    with pytest.raises(QuotaExceeded):
        store.create(new_voice("three"))


def test_voices_are_listed_by_age_page_by_page(store: VoiceStore) -> None:
    created = [store.create(new_voice(f"voice {n}")) for n in range(5)]

    first = store.list(ALICE, None, 2)
    second = store.list(ALICE, first.next_after, 2)
    third = store.list(ALICE, second.next_after, 2)

    listed = [*first.entries, *second.entries, *third.entries]
    assert listed == sorted(created, key=lambda record: record.id, reverse=True)
    assert third.next_after is None


def test_a_requested_cache_is_pending_until_it_is_built_and_ready_afterwards(
    world: VoiceWorld, store: VoiceStore, ada: VoiceRecord
) -> None:
    job = world.start_job()

    assert world.request(ada, job) is RequestOutcome.PENDING
    builder = world.claim(content_of(ada), job)
    assert store.caches(ALICE, ada.id)[0].state is CacheState.PROCESSING
    world.put(builder)
    world.commit(builder)

    (cache,) = store.caches(ALICE, ada.id)
    assert (cache.state, cache.artifact, cache.attempts, cache.build_ms) == (CacheState.READY, builder.stored, 1, 5)
    assert store.find_artifact(ALICE, content_of(ada)) == builder.stored
    assert store.find_artifact(BOB, content_of(ada)) is None
    assert world.request(ada, world.start_job()) is RequestOutcome.READY


def test_two_voices_of_the_same_content_share_one_build(world: VoiceWorld, store: VoiceStore, ada: VoiceRecord) -> None:
    twin = world.create("Twin", "hello")
    assert twin is not None
    ready(world, ada)

    assert world.request(twin, world.start_job()) is RequestOutcome.READY
    assert store.claim_build(content_of(twin), world.lease(world.jobs[-1])).status is ClaimStatus.READY

    store.delete(ALICE, ada.id)
    assert store.caches(ALICE, twin.id)[0].state is CacheState.READY
    store.delete(ALICE, twin.id)
    assert store.find_artifact(ALICE, content_of(twin)) is None


def test_of_two_builders_the_second_is_told_that_the_build_is_busy(
    world: VoiceWorld, store: VoiceStore, ada: VoiceRecord
) -> None:
    world.request(ada, world.start_job())
    first = world.claim(content_of(ada), world.jobs[-1])

    assert store.claim_build(content_of(ada), world.lease(world.jobs[-1])).status is ClaimStatus.BUSY

    world.lose(first.lease)
    assert store.caches(ALICE, ada.id)[0].state is CacheState.PENDING
    second = world.claim(content_of(ada), world.jobs[-1])
    assert second.is_mine
    world.put(first)
    assert not world.commit(first)


def test_a_build_whose_item_was_given_up_has_failed(world: VoiceWorld, store: VoiceStore, ada: VoiceRecord) -> None:
    world.request(ada, world.start_job())
    builder = world.claim(content_of(ada), world.jobs[-1])

    world.give_up(builder.lease)

    (cache,) = store.caches(ALICE, ada.id)
    assert (cache.state, cache.error and cache.error.code) == (CacheState.FAILED, "worker_lost")


def test_a_deleted_voice_is_not_brought_back_by_its_build(
    world: VoiceWorld, store: VoiceStore, ada: VoiceRecord
) -> None:
    world.request(ada, world.start_job())
    builder = world.claim(content_of(ada), world.jobs[-1])
    world.put(builder)

    store.delete(ALICE, ada.id)

    assert builder.stored is not None
    with pytest.raises(BuildRefused):
        store.commit_build(content_of(ada), builder.lease, builder.stored, 5)
    assert store.find_artifact(ALICE, content_of(ada)) is None
    assert store.claim_build(content_of(ada), builder.lease).status is ClaimStatus.UNKNOWN


def test_while_a_cache_is_rebuilt_its_old_version_is_served(
    world: VoiceWorld, store: VoiceStore, ada: VoiceRecord
) -> None:
    old = ready(world, ada)

    assert world.rebuild(ada, world.start_job()) is RequestOutcome.PENDING
    served = store.find_artifact(ALICE, content_of(ada))
    assert served is not None
    assert served.fence == old

    new = build(world, ada)
    served = store.find_artifact(ALICE, content_of(ada))
    assert served is not None
    assert served.fence == new


def test_a_rebuild_that_fails_keeps_the_old_version(world: VoiceWorld, store: VoiceStore, ada: VoiceRecord) -> None:
    old = ready(world, ada)
    world.rebuild(ada, world.start_job())
    builder = world.claim(content_of(ada), world.jobs[-1])

    world.fail(builder)

    (cache,) = store.caches(ALICE, ada.id)
    assert (cache.state, cache.error, cache.artifact and cache.artifact.fence) == (CacheState.READY, BROKEN, old)


def test_a_rebuild_whose_job_ends_leaves_the_old_version(
    world: VoiceWorld, store: VoiceStore, ada: VoiceRecord
) -> None:
    ready(world, ada)
    job = world.start_job()
    world.rebuild(ada, job)

    world.end_job(job)

    assert store.caches(ALICE, ada.id)[0].state is CacheState.READY


def test_a_failed_build_is_taken_up_again_when_somebody_asks(
    world: VoiceWorld, store: VoiceStore, ada: VoiceRecord
) -> None:
    job = world.start_job()
    world.request(ada, job)
    world.fail(world.claim(content_of(ada), job))
    assert store.claim_build(content_of(ada), world.lease(job)).error == BROKEN

    assert world.request(ada, job) is RequestOutcome.FAILED
    assert world.request(ada, world.start_job()) is RequestOutcome.PENDING
    build(world, ada)


def test_what_no_job_is_going_to_build_any_more_has_failed(
    world: VoiceWorld, store: VoiceStore, ada: VoiceRecord
) -> None:
    job, other = world.start_job(), world.start_job()
    world.request(ada, job)
    world.request(ada, other)

    world.end_job(job)
    assert store.caches(ALICE, ada.id)[0].state is CacheState.PENDING
    world.end_job(other)

    (cache,) = store.caches(ALICE, ada.id)
    assert (cache.state, cache.error and cache.error.code) == (CacheState.FAILED, "not_built")


def test_another_recording_drops_what_was_built_of_the_old_one(
    world: VoiceWorld, store: VoiceStore, ada: VoiceRecord
) -> None:
    ready(world, ada)

    world.replace(ada, "good morning")

    assert store.caches(ALICE, ada.id) == []
    assert store.find_artifact(ALICE, content_of(ada)) is None
    source = source_of("x", "voices/alice/other/source")
    with pytest.raises(VoiceChanged):
        store.replace(ALICE, ada.id, NewRecording(ada.revision, source, "", None))
    assert world.request(ada, world.start_job()) is RequestOutcome.MOVED


def test_a_cache_for_another_revision_of_the_model_replaces_the_old_one(
    world: VoiceWorld, store: VoiceStore, ada: VoiceRecord
) -> None:
    ready(world, ada)

    outcome = store.request_caches(ALICE, world.start_job(), [request_for(ada, "r2")])

    assert outcome == [RequestOutcome.PENDING]
    (cache,) = store.caches(ALICE, ada.id)
    assert (cache.model_revision, cache.artifact) == ("r2", None)
    assert store.find_artifact(ALICE, content_of(ada)) is None


def test_caches_are_listed_by_state_page_by_page(world: VoiceWorld, store: VoiceStore) -> None:
    job = world.start_job()
    voices = [world.create(f"voice {n}", f"recording {n}") for n in range(130)]
    store.request_caches(ALICE, job, [request_for(voice) for voice in voices if voice])
    done = [voice for voice in voices[::10] if voice]
    for voice in done:
        build(world, voice)

    found: list[str] = []
    cursor: str | None = None
    while True:
        page = store.list_caches(ALICE, lambda cache: cache.state is CacheState.READY, cursor, 5)
        found += [cache.target.voice for cache in page.entries]
        cursor = page.next_after
        if cursor is None:
            break

    assert found == sorted(voice.id for voice in done)


def test_forgotten_caches_leave_nothing_but_their_object_to_delete(
    world: VoiceWorld, store: VoiceStore, ada: VoiceRecord
) -> None:
    ready(world, ada)

    assert store.forget_caches(ALICE, ada.id, [(CacheMode.X_VECTOR, MODEL)]) == 0
    assert store.forget_caches(ALICE, ada.id) == 1

    assert store.caches(ALICE, ada.id) == []
    world.check_no_leak()


def test_the_content_depends_on_everything_that_changes_the_cache() -> None:
    source = source_of("hello", "voices/alice/voc/source")
    reference = VoiceReference(
        new_voice().id, "Ada", 1, MODEL, CacheMode.IN_CONTEXT, source, "Hello  there.", IfCacheMissing.COMPUTE
    )
    content = reference.content(ALICE, MODEL_REVISION)

    other = "0" * 64
    assert content == content_key(ALICE, source.sha256, "Hello there.", CacheMode.IN_CONTEXT, MODEL, MODEL_REVISION)
    different = {
        content_key(BOB, source.sha256, "Hello there.", CacheMode.IN_CONTEXT, MODEL, MODEL_REVISION),
        content_key(ALICE, other, "Hello there.", CacheMode.IN_CONTEXT, MODEL, MODEL_REVISION),
        content_key(ALICE, source.sha256, "Hello.", CacheMode.IN_CONTEXT, MODEL, MODEL_REVISION),
        content_key(ALICE, source.sha256, "Hello there.", CacheMode.X_VECTOR, MODEL, MODEL_REVISION),
        content_key(ALICE, source.sha256, "Hello there.", CacheMode.IN_CONTEXT, "big", MODEL_REVISION),
        content_key(ALICE, source.sha256, "Hello there.", CacheMode.IN_CONTEXT, MODEL, "r2"),
    }
    assert len(different | {content}) == 7
    assert normalised_ref_text(" a\n b ", CacheMode.IN_CONTEXT) == "a b"
    assert normalised_ref_text("a b", CacheMode.X_VECTOR) == ""


def test_a_damaged_version_is_dropped_and_its_finder_builds_it_anew(world: VoiceWorld, ada: VoiceRecord) -> None:
    content, damaged = content_of(ada), ready(world, ada)
    finder = world.lease(world.start_job())

    claim = world.store.reject_version(content, finder, damaged)

    assert claim.status is ClaimStatus.BUILD
    assert world.store.reject_version(content, finder, damaged).status is ClaimStatus.BUILD
    assert world.store.find_artifact(ALICE, content) is None
    other = world.store.reject_version(content, world.lease(world.jobs[-1]), damaged)
    assert other.status is ClaimStatus.BUSY


def test_a_successor_that_is_damaged_too_fails_the_cache_until_somebody_asks_again(
    world: VoiceWorld, ada: VoiceRecord
) -> None:
    content, first = content_of(ada), ready(world, ada)
    world.store.reject_version(content, world.lease(world.start_job()), first)
    world.lose(Lease(world.jobs[-1], ALICE, "0", world.fence))
    second = build(world, ada)

    claim = world.store.reject_version(content, world.lease(world.jobs[-1]), second)

    assert claim.status is ClaimStatus.FAILED
    assert claim.error is not None
    assert claim.error.code == "voice_cache_corrupt"
    third = ready(world, ada)
    assert world.store.reject_version(content, world.lease(world.jobs[-1]), third).status is ClaimStatus.BUILD


def test_rejecting_what_is_not_served_any_more_changes_nothing(world: VoiceWorld, ada: VoiceRecord) -> None:
    content, served = content_of(ada), ready(world, ada)

    claim = world.store.reject_version(content, world.lease(world.jobs[-1]), served - 1)

    assert claim.status is ClaimStatus.READY
    assert claim.artifact is not None
    assert claim.artifact.fence == served
    world.delete(ada.id)
    gone = world.store.reject_version(content, world.lease(world.jobs[-1]), served)
    assert gone.status is ClaimStatus.UNKNOWN
