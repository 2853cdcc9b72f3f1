"""Finished files in a bucket of the caller's: on a real S3 server, and on one that refuses and comes back."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import redis

from reading.plan.plan import Chapter
from rhapsode.contract.jobs.bucket import Bucket
from rhapsode.contract.jobs.output import AudioFormat, Files, Output, OutputFormat
from rhapsode.contract.jobs.states import JobPhase, JobState
from storage.ids import new_job_id
from storage.job_store.control import JobControl
from storage.jobs.record import JobRecord
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.spec import NarrationSpec
from storage.objects.callers_bucket import BucketKeys, bucket_owner
from storage.objects.embedded_s3 import EmbeddedS3
from storage.runtime.config.webhook_options import parse_networks
from storage.runtime.egress.client import UrlRules
from storage.runtime.egress.public_addresses import AddressRules
from storage.webhooks.sealed_secrets import SecretSealer
from tests.worker.assembly.callers_server import Script, serving
from tests.worker.assembly.studio import Book, submit_book, voice_like
from tests.worker.studio import SPEC, TENANT, Studio
from worker.assembly import delivery
from worker.assembly.item import run_assembly
from worker.bucket_access import MOST_AT_A_TIME, BucketAccess

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

SEALER = SecretSealer("a-sealing-key-for-tests")
HERE = UrlRules(addresses=AddressRules(parse_networks("loopback")))
SECRET = "the-secret-of-the-caller"
BOOK = Book(
    [voice_like(0.3, 0.3, number) for number in (1, 2)], (0.2, 0.0), (Chapter("Ümlaut & Co", 0), Chapter("B", 1))
)
FORMATS = (OutputFormat(type=AudioFormat.WAV), OutputFormat(type=AudioFormat.FLAC, files=Files.CHAPTERS))
NAMES = [
    "01 Ümlaut & Co.flac",
    "02 B.flac",
    "chapters-flac.json",
    "codes.safetensors",
    "manifest.json",
    "narration.wav",
]
MARKER = "rhapsode.json"


@pytest.fixture
def here(studio: Studio) -> Studio:
    """A studio that may reach this machine."""
    return replace(studio, services=replace(studio.services, buckets=BucketAccess(SEALER, HERE)))


@pytest.fixture
def script() -> Iterator[Script]:
    with serving(Script()) as served:
        yield served


def submitted(studio: Studio, bucket: Bucket, keys: BucketKeys = BucketKeys("id", SECRET)) -> JobRecord:  # noqa: B008
    """A job that waits to be assembled and then delivered."""
    job = new_job_id()
    sealed = SEALER.seal(keys.encoded(), bucket_owner(TENANT, job))
    output = Output(formats=FORMATS, bucket=bucket)
    return submit_book(studio, BOOK, output, replace(SPEC, bucket_secret=sealed), job)


def assembled(studio: Studio, script: Script) -> JobRecord:
    record = submitted(studio, Bucket(endpoint=script.url, bucket="theirs", prefix="books/42/"))
    assemble_alone(studio)
    return studio.record(record)


def assemble_alone(studio: Studio) -> None:
    """A ticket would go on with what is ready next."""
    item = studio.jobs.claim(CPU_QUEUE, studio.services.identity, 60).item
    assert item is not None
    with studio.services.leases.hold(item.lease) as held:
        run_assembly(item, held, studio.services)


def until_due(studio: Studio) -> None:
    while not studio.jobs.reap().retries_due:
        pass


def test_every_file_lies_under_its_own_name_and_the_marker_comes_last(
    here: Studio, weed: EmbeddedS3, s3_client: S3Client, redis_client: redis.Redis
) -> None:
    name = f"theirs-{uuid.uuid4().hex[:12]}"
    s3_client.create_bucket(Bucket=name)
    bucket = Bucket(endpoint=weed.endpoint_url, bucket=name, prefix="books/42/")
    record = submitted(here, bucket, BucketKeys(*weed.credentials))
    assemble_alone(here)
    under_way = here.record(record)
    assert (under_way.state, under_way.phase) == (JobState.RUNNING, JobPhase.DELIVERING)
    assert "Contents" not in s3_client.list_objects_v2(Bucket=name)

    here.run_one(CPU_QUEUE)

    assert here.record(record).state is JobState.SUCCEEDED
    listed = s3_client.list_objects_v2(Bucket=name)
    assert sorted(each.get("Key", "") for each in listed.get("Contents", ())) == sorted(
        f"books/42/{each}" for each in (*NAMES, MARKER)
    )
    got = {each: s3_client.get_object(Bucket=name, Key=f"books/42/{each}") for each in (*NAMES, MARKER)}
    content = {each: answer["Body"].read() for each, answer in got.items()}
    marker = json.loads(content[MARKER])
    assert (marker["job"], marker["state"]) == (record.id, "complete")
    assert {each["name"]: each["sha256"] for each in marker["files"]} == {
        each: hashlib.sha256(content[each]).hexdigest() for each in NAMES
    }
    assert got["narration.wav"]["ContentType"] == "audio/wav"
    told = [*(redis_client.dump(key) or b"" for key in redis_client.scan_iter()), *content.values()]
    assert not any(weed.credentials[1].encode() in each for each in told)
    assert bucket.model_dump(exclude_none=True) == json.loads(content["manifest.json"])["settings"]["output"]["bucket"]


def test_a_server_that_is_down_is_asked_again_and_gets_nothing_twice(here: Studio, script: Script) -> None:
    script.refusals = [(200, ""), (503, "<Error><Code>SlowDown</Code></Error>")]
    record = assembled(here, script)

    here.run_one(CPU_QUEUE)
    between = here.record(record)
    script.refusals = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delivery, "SHORTEST_PAUSE_S", 0.0)
        until_due(here)
    here.run_one(CPU_QUEUE)

    assert (between.state, between.phase, between.retries) == (JobState.RUNNING, JobPhase.DELIVERING, 0)
    assert here.record(record).state is JobState.SUCCEEDED
    assert len(script.puts) == len(NAMES) + 1 + 1
    assert script.puts.count("/theirs/books/42/narration.wav") == 1
    assert script.puts[-1] == f"/theirs/books/42/{MARKER}"


def test_a_refusal_fails_the_job_which_keeps_its_files_and_can_be_retried(
    here: Studio, script: Script, redis_client: redis.Redis
) -> None:
    script.refusals = [(403, f"<Error><Code>AccessDenied</Code><Message>{SECRET}</Message></Error>")]
    record = assembled(here, script)
    here.run_one(CPU_QUEUE)
    failed = here.record(record)

    assert failed.error is not None
    assert (failed.state, failed.error.code) == (JobState.FAILED, "bucket_unusable")
    assert failed.error.detail == "the files were not taken: the bucket's server answered 403 AccessDenied"
    assert all(here.artifacts.stat(each.key) for each in failed.artifacts)
    JobControl(redis_client).retry(TENANT, record.id)
    here.run_one(CPU_QUEUE)
    assert here.record(record).state is JobState.SUCCEEDED


def test_it_is_given_up_after_a_day(here: Studio, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "GIVEN_UP_S", 0.0)
    script.refusals = [(500, "")]
    record = assembled(here, script)
    here.run_one(CPU_QUEUE)

    error = here.record(record).error
    assert error is not None
    assert (error.code, "could not be sent for a day" in error.detail) == ("bucket_unusable", True)


def test_an_address_of_ours_and_a_foreign_seal_are_refused(studio: Studio, script: Script) -> None:
    """As for webhooks: the operator has to allow private networks."""
    told: list[str] = []
    for access in (
        BucketAccess(SEALER),
        BucketAccess(SecretSealer("another-key-of-16"), HERE),
        BucketAccess(None, HERE),
    ):
        there = replace(studio, services=replace(studio.services, buckets=access))
        record = assembled(there, script)
        there.run_one(CPU_QUEUE)
        error = there.record(record).error
        assert error is not None
        told.append(f"{error.code}: {error.detail}")

    assert script.puts == []
    assert all(each.startswith("bucket_unusable") for each in told)
    assert "begins with https" in told[0]
    assert ["cannot be opened any more" in each for each in told] == [False, True, True]


def test_a_cancelled_job_breaks_off_in_the_middle_of_a_file(here: Studio, script: Script) -> None:
    record = assembled(here, script)

    def cancel(_: str) -> None:
        here.jobs.cancel(TENANT, record.id)
        here.services.leases.extend_now()

    script.on_put = cancel

    here.run_one(CPU_QUEUE)

    assert here.record(record).state is JobState.CANCELLED
    assert f"/theirs/books/42/{MARKER}" not in script.kept


def test_a_worker_that_died_is_followed_by_one_that_sends_the_rest(here: Studio, script: Script) -> None:
    record = assembled(here, script)
    died = here.jobs.claim(CPU_QUEUE, replace(here.services.identity, name="other"), 60).item
    assert died is not None
    assert died.lease.item == "deliver"
    here.jobs.release_worker(replace(here.services.identity, name="other", boot_id="2"))

    here.run_one(CPU_QUEUE)

    assert here.record(record).state is JobState.SUCCEEDED
    assert len(script.puts) == len(NAMES) + 1


def test_files_that_are_made_again_meanwhile_are_the_ones_that_arrive(
    here: Studio, script: Script, redis_client: redis.Redis
) -> None:
    record = assembled(here, script)
    make_again(redis_client, record, (OutputFormat(type=AudioFormat.OPUS),))
    again = here.record(record)
    assert again.phase is JobPhase.ASSEMBLING
    assert here.jobs.ready_counts()[CPU_QUEUE] == 1
    here.run_one(CPU_QUEUE)

    assert here.record(record).state is JobState.SUCCEEDED
    assert "/theirs/books/42/narration.opus" in script.kept
    make_again(redis_client, record, FORMATS)
    here.run_one(CPU_QUEUE)
    assert here.record(record).state is JobState.SUCCEEDED


def make_again(redis_client: redis.Redis, record: JobRecord, formats: tuple[OutputFormat, ...]) -> None:
    def change(spec: NarrationSpec) -> NarrationSpec:
        return spec.asking(output=spec.request.output.model_copy(update={"formats": formats}))

    JobControl(redis_client).assemble(TENANT, record.id, change, None)


def test_a_worker_has_threads_left_for_other_work(here: Studio, script: Script) -> None:
    record = assembled(here, script)
    for _ in range(MOST_AT_A_TIME):
        assert here.services.buckets.places.acquire(blocking=False)

    here.run_one(CPU_QUEUE)

    assert script.puts == []
    assert here.record(record).phase is JobPhase.DELIVERING
    here.services.buckets.places.release()
    until_due(here)
    here.run_one(CPU_QUEUE)
    assert here.record(record).state is JobState.SUCCEEDED


def test_the_credentials_have_no_text_but_the_sealed_one() -> None:
    keys = BucketKeys("id", SECRET, "token")
    bucket = Bucket(endpoint="https://s3.example.org", bucket="abc", access_key_id="id", secret_access_key=SECRET)

    assert SECRET not in repr(keys) + repr(bucket) + bucket.model_dump_json()
    assert SECRET not in repr(Output(bucket=bucket))
