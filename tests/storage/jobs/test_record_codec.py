"""What a job asks for, between its value and its text in Redis."""

from __future__ import annotations

import dataclasses
import json

import pytest

from storage.ids import JobId, Target, VoiceId
from storage.jobs.record import JobSpec
from storage.jobs.record_codec import decode_spec, decode_submission, encode_submission, submitted_fields
from storage.jobs.submissions import IdempotencyKey, Submission
from storage.jobs.webhook_target import JobWebhook
from storage.narration.spec import NarrationSpec
from storage.narration.voice_reference import (
    CacheMode,
    IfCacheMissing,
    SourceKind,
    VoiceCacheSpec,
    VoiceReference,
    VoiceSource,
)
from tests.storage.job_store.job_driver import SPEC, submission

SOURCE = VoiceSource(SourceKind.RECORDING, "voices/a/b/source-1", "0" * 64, 44, "audio/wav", duration_s=1.5)
OWN = VoiceReference(VoiceId("voc_1"), "Ada", 2, "small", CacheMode.IN_CONTEXT, SOURCE, "Hello.", IfCacheMissing.WAIT)


@pytest.mark.parametrize(
    "spec", [SPEC, dataclasses.replace(SPEC, own_voice=OWN), VoiceCacheSpec("small", "r1", 3, rebuild=True)]
)
def test_a_spec_is_read_as_it_was_written(spec: JobSpec) -> None:
    fields = submitted_fields(dataclasses.replace(submission(), spec=spec))

    assert decode_spec(fields["spec"]) == spec
    assert (fields.get("kind") == "voice_cache") == isinstance(spec, VoiceCacheSpec)


def test_a_narration_of_before_there_were_own_voices_is_still_one() -> None:
    fields = json.loads(json.dumps(dataclasses.asdict(SPEC)))
    del fields["own_voice"]

    spec = decode_spec(json.dumps(fields))

    assert isinstance(spec, NarrationSpec)
    assert spec == SPEC


def test_a_submission_is_one_document_that_lacks_its_trace_alone() -> None:
    given = dataclasses.replace(
        submission(idempotency=IdempotencyKey("key", "f" * 64), metadata={"book": "42"}),
        deadline_ms=5,
        webhook=JobWebhook(Target("h:alice:1"), url="https://receiver.example.org/x"),
        batch=JobId("bat_1"),
        trace="00-1-1-01",
        key_id="key_1",
        stored_bytes=7,
        not_before_ms=3,
    )
    defaults = {each.name: each.default for each in dataclasses.fields(Submission)}
    assert [name for name, default in defaults.items() if getattr(given, name) == default] == []

    document = encode_submission(given)

    assert "\n" not in document
    assert decode_submission(document.encode()) == dataclasses.replace(given, trace="")
