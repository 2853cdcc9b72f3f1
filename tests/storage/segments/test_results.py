"""What a job keeps of each segment: one short line, whatever release wrote it, and what the record counts of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from rhapsode.contract.jobs.options import Sampling
from rhapsode.contract.jobs.quality import Gate
from storage.database.keys import RedisKeys
from storage.job_store.control import JobControl
from storage.job_store.segment_reads import SegmentReader
from storage.job_store.segment_reuse import ReuseIndex, SegmentContent
from storage.job_store.store import JobStore
from storage.segments.edits import SegmentEdit
from storage.segments.packs import PackName, PackPlace
from storage.segments.results import (
    SegmentReport,
    SegmentResult,
    decode_segment_result,
    encode_report,
    pack_sha256,
    unpack_sha256,
)
from tests.storage.job_store.event_log import EventLog
from tests.storage.job_store.job_driver import ALICE, BOB, GPU_QUEUE, SPEC, Clock, claim, open_store, report, start_job

FLAGS = st.lists(st.sampled_from(["too_long", "cut_end", "silenced", "unheard"]), unique=True).map(tuple)
MAX_LINE_BYTES = 160
MAX_PLACE_BYTES = 48
CONTENT = SegmentContent(
    ALICE,
    "Hello.",
    "alice",
    "small",
    "r1",
    "english",
    "",
    SPEC.request.sampling,
    seed=None,
    occurrence=0,
    gate=Gate.BASIC,
)


@pytest.fixture
def store(redis_client: redis.Redis) -> JobStore:
    Clock()
    return open_store(redis_client)


@given(
    st.integers(0, 24_000 * 60),
    st.integers(0, 1000),
    st.integers(0, 2**53 - 1),
    st.integers(0, 10),
    st.booleans(),
    st.integers(1, 20),
    st.none() | st.integers(-7_000, 0),
    FLAGS,
)
def test_a_result_is_read_as_it_was_written_and_is_short(
    samples: int,
    chars: int,
    seed: int,
    attempts: int,
    reused: bool,
    take: int,
    level: int | None,
    flags: tuple[str, ...],
) -> None:
    loudness = None if level is None else level / 100
    told = replace(report(), num_samples=samples, num_chars=chars, seed=seed, attempts=attempts)
    told = replace(told, reused=reused, take=take, loudness_lufs=loudness, flags=flags)

    line = f"D123456789:{encode_report(told)}"
    read = decode_segment_result("42", line)

    assert read == SegmentResult(
        42, 123456789, samples, told.sha256, chars, "eos", seed, attempts, reused, take, loudness, flags
    )
    assert len(line) <= MAX_LINE_BYTES


PLACES = st.builds(
    PackPlace,
    st.builds(PackName, st.integers(0, 10**6), st.integers(1, 10**9), st.integers(0, 10**6)),
    st.integers(0, 2**26),
    st.integers(0, 2**23),
)


@given(PLACES, FLAGS)
def test_a_packed_segments_line_says_where_it_lies_and_keeps_its_digest_for_releases_without_packs(
    place: PackPlace, flags: tuple[str, ...]
) -> None:
    told = replace(report(), place=place, flags=flags)

    line = f"D123456789:{encode_report(told)}"

    read, alone = decode_segment_result("42", line), f"D123456789:{encode_report(replace(told, place=None))}"
    assert read.place == place
    assert replace(read, place=None) == decode_segment_result("42", alone)
    # What they read: the seventh field up to its "=", between as many fields as ever.
    assert len(line.split(":")) == len(alone.split(":"))
    assert unpack_sha256(line.split(":")[6]) == told.sha256
    assert len(line) - len(alone) <= MAX_PLACE_BYTES


GUESSED = ("Zorathiel", "Ithrëndil", "D’Arvesh")


@given(st.none() | PLACES, FLAGS)
def test_guessed_words_are_kept_where_releases_before_read_the_other_fields(
    place: PackPlace | None, flags: tuple[str, ...]
) -> None:
    told = replace(report(), place=place, flags=flags, guessed=GUESSED)

    line, alone = (f"D7:{encode_report(each)}" for each in (told, replace(told, guessed=())))

    read = decode_segment_result("42", line)
    assert (read.guessed, read.finish_reason) == (GUESSED, "eos")
    assert replace(read, guessed=()) == decode_segment_result("42", alone)
    fields, fields_alone = line.split(":"), alone.split(":")
    assert fields[:8] + fields[9:] == fields_alone[:8] + fields_alone[9:]


def test_a_line_of_a_release_before_has_no_guessed_words() -> None:
    digest = pack_sha256(report().sha256)
    lines = (f"D7:24000:{digest}", f"D7:24000:20:1:0:1:{digest}:5:length:-1900:")

    assert [decode_segment_result("42", line).guessed for line in lines] == [(), ()]


def test_packed_segments_are_counted_and_taken_back_as_any(store: JobStore, redis_client: redis.Redis) -> None:
    job = start_job(store, 2)
    place = PackPlace(PackName(0, 1, 1), 4096, 50_000)
    store.commit_segment(
        claim(store, GPU_QUEUE).lease, replace(report(), place=place, guessed=GUESSED, flags=("level",), warning="w")
    )
    store.commit_segment(claim(store, GPU_QUEUE).lease, replace(report(), place=place))
    counted = store.get(ALICE, job.id)
    assert (counted.segments.done, counted.segments.flagged, counted.samples_done) == (2, 1, 48_000)
    assert [each.place for each in store.segment_results(ALICE, job.id)] == [place, place]

    JobControl(redis_client).edit(ALICE, job.id, {0: SegmentEdit(text="Another.")})

    record = store.get(ALICE, job.id)
    assert (record.segments.done, record.segments.flagged, record.samples_done) == (1, 0, 24_000)
    assert store.audit_counters() == ()


def test_a_result_of_before_there_was_a_gate_is_still_one() -> None:
    sha256 = report().sha256

    read = decode_segment_result("3", f"D7:24000:{pack_sha256(sha256)}")

    assert read == SegmentResult(3, 7, 24_000, sha256)


def test_a_job_counts_attempts_copies_and_faults(store: JobStore, redis_client: redis.Redis) -> None:
    job = start_job(store, 3)
    outcomes: list[SegmentReport] = [
        replace(report("a"), attempts=3),
        replace(report("b"), attempts=0, reused=True),
        replace(report("c"), attempts=2, flags=("too_long", "cut_end"), warning="it was kept"),
    ]

    for outcome in outcomes:
        store.commit_segment(claim(store, GPU_QUEUE).lease, outcome)

    record = store.get(ALICE, job.id)
    assert (record.segments.done, record.segments.reused, record.segments.flagged) == (3, 1, 1)
    assert (record.rerolls, record.samples_done, record.samples_reused) == (3, 72_000, 24_000)
    assert [(w.code, w.detail, w.segment) for w in record.warnings] == [("segment_quality", "it was kept", 2)]
    flagged = [event.data for event in EventLog(redis_client).read(job.id) if event.type == "job.segment.flagged"]
    assert [(data["segment"], data["flags"]) for data in flagged] == [(2, "too_long,cut_end")]


def test_warnings_are_bounded_and_counted_in_full(store: JobStore) -> None:
    job = start_job(store, 120)

    for _ in range(120):
        store.commit_segment(claim(store, GPU_QUEUE).lease, replace(report(), flags=("level",), warning="kept"))

    record = store.get(ALICE, job.id)
    assert (len(record.warnings), record.segments.flagged) == (100, 120)


def test_a_sample_of_results_holds_no_plan_and_no_failure(store: JobStore, redis_client: redis.Redis) -> None:
    job = start_job(store, 10)
    for _ in range(8):
        store.commit_segment(claim(store, GPU_QUEUE).lease, report())

    sample = SegmentReader(redis_client).sample(job.id, 5)
    everything = SegmentReader(redis_client).sample(job.id, 100)

    assert len({result.index for result in sample}) == len(sample) >= 4
    assert sorted(result.index for result in everything) == list(range(8))


def test_a_segment_is_found_by_its_content_and_only_by_its_owner(store: JobStore, redis_client: redis.Redis) -> None:
    job = start_job(store, 1)
    store.commit_segment(claim(store, GPU_QUEUE).lease, replace(report(), reuse_id=CONTENT.id))
    index = ReuseIndex(redis_client)

    found = index.find(ALICE, CONTENT.id)

    assert found is not None
    assert (found.job, found.result.index, found.result.sha256) == (job.id, 0, report().sha256)
    assert index.find(BOB, CONTENT.id) is None
    assert index.find(ALICE, replace(CONTENT, text="Other.").id) is None
    ttl = redis_client.ttl(RedisKeys("rhapsode").of("reuse", ALICE, CONTENT.id))
    assert 0 < ttl <= job.retention_s


def test_a_hint_to_a_job_that_is_gone_or_changed_leads_nowhere(store: JobStore, redis_client: redis.Redis) -> None:
    job = start_job(store, 1)
    store.commit_segment(claim(store, GPU_QUEUE).lease, replace(report(), reuse_id=CONTENT.id))
    results = RedisKeys("rhapsode").of("results", job.id)

    redis_client.hset(results, "0", f"D999:{encode_report(report('edited'))}")
    changed = ReuseIndex(redis_client).find(ALICE, CONTENT.id)
    redis_client.delete(results)

    assert changed is None
    assert ReuseIndex(redis_client).find(ALICE, CONTENT.id) is None


@pytest.mark.parametrize(
    "other",
    [
        replace(CONTENT, tenant=BOB),
        replace(CONTENT, text="hello."),
        replace(CONTENT, voice="bob"),
        replace(CONTENT, model="large"),
        replace(CONTENT, revision="r2"),
        replace(CONTENT, language="auto"),
        replace(CONTENT, instructions="softly"),
        replace(CONTENT, sampling=Sampling(top_k=5)),
        replace(CONTENT, seed=0),
        replace(CONTENT, occurrence=1),
        replace(CONTENT, gate=Gate.ASR),
    ],
)
def test_everything_that_is_heard_is_part_of_the_content(other: SegmentContent) -> None:
    assert len(other.id) == 22
    assert other.id != CONTENT.id
