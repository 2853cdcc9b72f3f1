"""A whole job is one item, and ends as three items would have ended it: the same files, events, counts and usage."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import pytest
import redis

from rhapsode.contract.jobs.input import InnerPauses, Normalization, Pauses
from rhapsode.contract.jobs.narration import SegmentLengths
from rhapsode.contract.jobs.options import Reproducibility, Sampling
from rhapsode.contract.jobs.output import ChapterMarks, Output, Tags
from rhapsode.contract.jobs.quality import Gate, OnExhausted, Quality
from rhapsode.contract.jobs.states import JobState
from storage.database.keys import RedisKeys
from storage.errors import StoreUnavailable
from storage.job_store.control import JobControl, JobUpdate
from storage.job_store.leases import WholeResult
from storage.job_store.store import JobStore
from storage.jobs.record import JobRecord
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import Lease
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.cast import SpeakerVoice
from storage.narration.spec import NarrationSpec
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.runtime.config.settings import StorageSettings
from storage.segments.edits import SegmentEdit
from tests.storage.job_store.event_log import EventLog
from tests.worker.faulty_engine import FaultyEngine
from tests.worker.speech.quality.defects import SPOILS
from tests.worker.studio import GPU_QUEUE, SPEC, TENANT, Studio
from worker.speech.postprocessing.in_process import InProcessPostProcessor
from worker.speech.postprocessing.interface import JudgedSpeech, Sequel
from worker.speech.postprocessing.pool import PostProcessorPool
from worker.speech.quality.calibration.calibration_file import SpeechBounds
from worker.speech.quality.job_norms import JobNorms
from worker.speech.quality.verdict import JudgedUtterance

ROOT = Path(__file__).resolve().parents[3]
SHORT = SPEC.asking(segmentation=SegmentLengths(target_chars=300, max_chars=500))


def asking(**options: object) -> NarrationSpec:
    return SHORT.asking(**options)


def output(**options: Any) -> NarrationSpec:
    return asking(output=Output(**options))


CASES: dict[str, tuple[str, NarrationSpec]] = {
    "a sentence": ("The harbour was quiet that night.", SHORT),
    "one word": ("Hello", SHORT),
    "a number": ("7", SHORT),
    "three sentences": ("It rained. Nobody came. The lamp went out at nine.", SHORT),
    "a question and an answer": ("“Who is there?” asked the keeper. “Nobody,” said the wind.", SHORT),
    "blanks around it": ("  \n\n The door opened.  \n", SHORT),
    "line breaks inside": ("A long line that\nwas wrapped by hand\nand goes on.", SHORT),
    "no full stop": ("Chapter the first", SHORT),
    "Chinese": ("今天天气很好。我们去散步吧！", SHORT),
    "German": ("Guten Tag. Wie geht es Ihnen?", asking(language="german")),
    "the wrong language": (
        "Guten Tag, wie geht es Ihnen heute? Es ist nicht weit, und wir haben noch Zeit.",
        replace(SHORT, languages=("english",)),
    ),
    "litter": ("The won- derful _house_ stood there.[Pg 12] It was old.", SHORT),
    "numbers as words": (
        "On the 3rd of May 1921 it cost $4.50.",
        asking(language="english", normalization=Normalization.BASIC),
    ),
    "a wish for shorter segments": ("One, two.", replace(SHORT, bounds=replace(SHORT.bounds, asked_chars=900))),
    "another voice": ("I am Tom.", asking(voice="tom")),
    "another seed": ("Same text.", asking(seed=99)),
    "no seed": ("Same text.", replace(SHORT, seed_fixed=False)),
    "instructions": ("Quietly now.", asking(instructions="whisper")),
    "greedy": ("As likely as can be.", asking(sampling=Sampling(temperature=0))),
    "strict": ("Alike in any company.", asking(reproducibility=Reproducibility.STRICT)),
    "no gate": ("Nobody listens.", asking(quality=Quality(gate=Gate.OFF))),
    "who would fail": ("All is well.", asking(quality=Quality(on_exhausted=OnExhausted.FAIL))),
    "held pauses": ("One. Two. Three.", asking(pauses=Pauses(inside=InnerPauses.ASKED))),
    "no reuse": ("Only once.", asking(reuse=False)),
    "another rate": ("Resampled speech.", output(sample_rate=16_000)),
    "a head and a tail": ("With room around it.", output(head_s=0.5, tail_s=1.25)),
    "room tone": ("Not digital silence.", output(room_tone_db=-70)),
    "tags": ("Told of.", output(tags=Tags(title="A title", author="Somebody"))),
    "no chapters": ("Nothing to mark.", output(chapters=ChapterMarks.OFF)),
    "a cast": ("BEN: I am here.", replace(SHORT, cast=(SpeakerVoice("Ben", "tom", None),))),
    "a destination": ("Elsewhere.", output(destination={"prefix": "letters/today/"})),
    "the longest": ("word " * 99 + "end.", SHORT),
}


@pytest.mark.parametrize("name", CASES)
def test_a_whole_job_ends_as_three_items_would(
    name: str, studio: Studio, storage_settings: StorageSettings, redis_client: redis.Redis
) -> None:
    text, spec = CASES[name]
    spec = spec.asking(reuse=False)
    keys_of_redis = RedisKeys(storage_settings.key_prefix)
    events = EventLog(redis_client, storage_settings.key_prefix)

    divided = studio.submit(text, spec)
    studio.drain()
    usage = _usage(redis_client, storage_settings)
    whole = studio.submit_planned(text, spec)
    assert dict(studio.jobs.ready_counts()) == {GPU_QUEUE: 1}
    studio.run_one(GPU_QUEUE)

    first, second = studio.record(divided), studio.record(whole)
    assert first.state is second.state is JobState.SUCCEEDED
    assert _facts(second, studio.artifacts) == _facts(first, studio.artifacts)
    told = [[(each.type, _comparable(each.data)) for each in events.read(job.id)] for job in (divided, whole)]
    assert told[1] == told[0]
    assert _usage(redis_client, storage_settings) - usage == usage
    assert not studio.jobs.ready_counts()
    assert studio.jobs.audit_counters() == ()
    assert redis_client.hgetall(keys_of_redis.single("total")) in ({}, {"jobs": "0", "audio_ms": "0"})


def _usage(client: redis.Redis, settings: StorageSettings) -> Counter[str]:
    counted = Counter[str]()
    for key in client.scan_iter(f"*{settings.key_prefix}*:usage:*"):
        row = cast("dict[str, str]", client.hgetall(key))
        counted.update({name: int(number) for name, number in row.items() if "engine_ms" not in name})
    return counted


def _comparable(told: dict[str, Any]) -> dict[str, Any]:
    """Of an event: without sizes of files that name their job's numbers."""
    return {name: value for name, value in told.items() if name != "bytes" or told["artifact_type"] != "manifest"}


def _facts(record: JobRecord, artifacts: ArtifactStore) -> dict[str, Any]:
    """What a job has come to, but for its id, its times, and the fences under which it was made."""
    left_out = {"id", "version", "created_at_ms", "started_at_ms", "finished_at_ms", "expires_at_ms", "plan_key"}
    left_out |= {"plan_document", "input_key", "engine_ms", "artifacts"}
    facts = {name: value for name, value in asdict(record).items() if name not in left_out}
    for each in record.artifacts:
        data = artifacts.get(each.key)
        is_text = each.name.endswith(".json")
        facts[each.name] = (_manifest(data, record) if is_text else data, each.type, each.duration_s)
    (segment,) = artifacts.list(f"{keys.job_prefix(TENANT, record.id)}segments/")
    facts["segment"] = artifacts.get(segment.key).partition(b"codes")[2]
    return facts


def _manifest(data: bytes, record: JobRecord) -> Any:
    """Digests of a segment hold its job and fence."""
    return _without_digests(json.loads(data.replace(record.id.encode(), b"JOB")))


def _without_digests(value: Any) -> Any:
    match value:
        case dict():
            return {name: _without_digests(each) for name, each in value.items() if name != "sha256"}
        case list():
            return [_without_digests(each) for each in value]
        case _:
            return value


def test_a_pause_while_it_is_spoken_leaves_the_assembly_for_later(studio: Studio) -> None:
    job = studio.submit_planned("The harbour was quiet.", SHORT)
    pausing = _PausingPostProcessor(studio, job)
    slow = replace(studio, services=replace(studio.services, postprocessor=pausing))
    slow.run_one(GPU_QUEUE)

    paused = studio.record(job)
    assert paused.state is JobState.PAUSED
    assert (paused.segments.done, paused.artifacts) == (1, ())
    assert not list(studio.artifacts.list(f"{keys.job_prefix(TENANT, job.id)}artifacts/"))

    studio.services.worker.tickets.send(studio.jobs.resume(TENANT, job.id).tickets)
    record = studio.drained(job)
    assert record.state is JobState.SUCCEEDED
    assert len(record.artifacts) == 3


def test_what_does_not_pass_at_once_is_assembled_by_an_item(studio: Studio) -> None:
    engine = FaultyEngine({"runaway": SPOILS["runaway"]}, 1.0)
    spoiled = replace(studio, services=replace(studio.services, engine=engine))
    job = spoiled.submit_planned("The harbour was quiet.", SHORT)
    spoiled.run_one(GPU_QUEUE)

    assert dict(studio.jobs.ready_counts()) == {CPU_QUEUE: 1}
    spoiled.drain()
    record = studio.record(job)
    assert (record.state, record.segments.flagged) == (JobState.SUCCEEDED, 1)
    assert record.rerolls == len(engine.requests) - 1 > 0


def test_a_take_that_an_edit_asks_for_is_assembled_by_an_item(studio: Studio, control: JobControl) -> None:
    job = studio.submit_planned("The harbour was quiet.", SHORT)
    first = studio.drained(job)

    control.edit(TENANT, job.id, {0: SegmentEdit(text="The harbour was loud.")})
    studio.run_one(GPU_QUEUE)
    assert dict(studio.jobs.ready_counts()) == {CPU_QUEUE: 1}
    record = studio.drained(job)

    assert (record.state, record.run) == (JobState.SUCCEEDED, 1)
    assert {each.sha256 for each in record.artifacts}.isdisjoint(each.sha256 for each in first.artifacts)
    lying = {entry.key for entry in studio.artifacts.list(f"{keys.job_prefix(TENANT, job.id)}artifacts/")}
    assert lying == {each.key for each in record.artifacts}


def test_a_segment_that_was_spoken_before_is_copied(studio: Studio) -> None:
    spec = replace(SHORT, seed_fixed=False)
    studio.submit_planned("The harbour was quiet.", spec)
    studio.drain()
    second = studio.submit_planned("The harbour was quiet.", spec)
    record = studio.drained(second)

    assert (record.state, record.segments.reused) == (JobState.SUCCEEDED, 1)


def test_a_job_that_expired_before_it_was_spoken_is_one_item_again(studio: Studio, control: JobControl) -> None:
    job = studio.submit_planned("The harbour was quiet.", SHORT)
    control.patch(TENANT, job.id, JobUpdate(deadline_ms=1))
    studio.jobs.reap(10)
    assert studio.record(job).state is JobState.EXPIRED

    control.retry(TENANT, job.id)
    assert dict(studio.jobs.ready_counts()) == {GPU_QUEUE: 1}
    studio.run_one(GPU_QUEUE)
    assert studio.record(job).state is JobState.SUCCEEDED


def test_an_answer_that_got_lost_changes_nothing(studio: Studio) -> None:
    job = studio.submit_planned("The harbour was quiet.", SHORT)
    forgetful = _ForgetfulStore(studio.jobs)
    forgetting = studio.with_jobs(cast("JobStore", forgetful))
    forgetting.run_one(GPU_QUEUE)

    record = studio.record(job)
    assert record.state is JobState.SUCCEEDED
    assert forgetful.finishes == 2
    assert record.segments.done == 1
    assert studio.jobs.audit_counters() == ()


def test_a_result_that_nobody_takes_leaves_nothing(studio: Studio) -> None:
    job = studio.submit_planned("The harbour was quiet.", SHORT)
    ending = _PausingPostProcessor(studio, job, cancels=True)
    replace(studio, services=replace(studio.services, postprocessor=ending)).run_one(GPU_QUEUE)

    assert studio.record(job).state is JobState.CANCELLED
    left = [entry.key for entry in studio.artifacts.list(keys.job_prefix(TENANT, job.id))]
    assert left == [keys.input_text(TENANT, job.id)]


def test_a_post_processor_process_makes_the_same_files(studio: Studio, storage_settings: StorageSettings) -> None:
    spec = SHORT.asking(reuse=False)
    secret = "only-for-these-tests"
    environment = {"RHAPSODE_STORE": storage_settings.store, "RHAPSODE_URL_SECRET": secret, "PYTHONPATH": str(ROOT)}
    pool = PostProcessorPool(1, 1, "folder", "test", environment)
    pool.start()
    try:
        apart = replace(studio, services=replace(studio.services, postprocessor=pool))
        job = apart.submit_planned("The harbour was quiet.", spec)
        apart.run_one(GPU_QUEUE)
    finally:
        pool.close()
    other = studio.submit_planned("The harbour was quiet.", spec)
    studio.run_one(GPU_QUEUE)

    first, second = studio.record(job), studio.record(other)
    assert first.state is JobState.SUCCEEDED, first.error
    assert _facts(first, studio.artifacts) == _facts(second, studio.artifacts)


class _PausingPostProcessor(InProcessPostProcessor):
    """Its owner pauses, or cancels, the job while this makes its files."""

    def __init__(self, studio: Studio, job: JobRecord, *, cancels: bool = False) -> None:
        super().__init__(studio.artifacts)
        self._change = studio.jobs.cancel if cancels else studio.jobs.pause
        self._job = job

    def judge_then(
        self, utterance: JudgedUtterance, gate: Gate, bounds: SpeechBounds, norms: JobNorms | None, sequel: Sequel
    ) -> JudgedSpeech:
        judged = super().judge_then(utterance, gate, bounds, norms, sequel)
        self._change(TENANT, self._job.id)
        return judged


class _ForgetfulStore:
    """Loses the answer to the first finish."""

    def __init__(self, jobs: JobStore) -> None:
        self._jobs = jobs
        self.finishes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jobs, name)

    def finish_whole(self, lease: Lease, made: WholeResult) -> tuple[bool, Tickets]:
        self.finishes += 1
        finish = self._jobs.finish_whole(lease, made)
        if self.finishes == 1:
            raise StoreUnavailable("the answer got lost")
        return finish
