"""What a job asks for, between its value and its text in Redis."""

from __future__ import annotations

import dataclasses
import json
import pickle

import pytest

from reading.drafting.warnings import TextWarning
from rhapsode.contract.jobs.narration import Narration
from rhapsode.contract.jobs.options import SpeechOptions
from rhapsode.contract.jobs.request import JobRequest
from rhapsode.contract.voices.modes import CacheMode, IfCacheMissing
from storage.ids import JobId, Target, VoiceId
from storage.jobs.record import JobSpec
from storage.jobs.record_codec import decode_spec, decode_submission, encode_spec, encode_submission, submitted_fields
from storage.jobs.states import stored_phase
from storage.jobs.submissions import IdempotencyKey, Submission
from storage.jobs.webhook_target import WebhookTarget
from storage.jobs.whole import WholePlan
from storage.narration.spec import NarrationSpec
from storage.narration.voice_reference import SourceKind, VoiceCacheSpec, VoiceReference, VoiceSource
from tests.storage.job_store.job_driver import SPEC, submission

SOURCE = VoiceSource(SourceKind.RECORDING, "voices/a/b/source-1", "0" * 64, 44, "audio/wav", duration_s=1.5)
OWN = VoiceReference(VoiceId("voc_1"), "Ada", 2, "small", CacheMode.IN_CONTEXT, SOURCE, "Hello.", IfCacheMissing.WAIT)


@pytest.mark.parametrize(
    "spec", [SPEC, dataclasses.replace(SPEC, own_voice=OWN), VoiceCacheSpec("small", "r1", 3, rebuild=True)]
)
def test_a_spec_is_read_as_it_was_written(spec: JobSpec) -> None:
    fields = submitted_fields(dataclasses.replace(submission(), spec=spec))

    assert decode_spec(fields["spec"]) == spec
    # To a post-processor it travels as in the record.
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert (fields.get("kind") == "voice_cache") == isinstance(spec, VoiceCacheSpec)


def test_a_release_beside_this_one_may_know_more_options_or_fewer() -> None:
    written = json.loads(encode_spec(SPEC))
    newer = written | {"request": written["request"] | {"an_option": 1, "quality": {"gate": "basic", "a_level": 2}}}
    older = written | {"request": {name: value for name, value in written["request"].items() if name != "reuse"}}

    assert decode_spec(json.dumps(newer)) == decode_spec(json.dumps(older)) == SPEC


def test_what_a_release_before_asked_for_and_this_one_does_not_know_is_skipped() -> None:
    written = json.loads(encode_spec(SPEC))
    bucket = {"endpoint": "https://s3.example.org", "region": "us-east-1", "bucket": "mine", "prefix": ""}
    output = written["request"]["output"] | {"bucket": bucket}
    older = written | {"request": written["request"] | {"output": output}, "bucket_secret": "sealed"}

    assert decode_spec(json.dumps(older)) == SPEC


@pytest.mark.parametrize(("text", "phase"), [("assembling", "assembling"), ("delivering", "assembling")])
def test_a_phase_of_a_release_before_is_read(text: str, phase: str) -> None:
    assert stored_phase(text) == phase


def test_an_option_that_passes_through_is_in_the_stored_document_without_another_line() -> None:
    request = JobRequest.model_validate({"input": {"text": "One."}, "pauses": {"sentence_s": 2.5}, "reuse": False})
    passed = {name: getattr(request, name) for name in SpeechOptions.model_fields}

    spec = NarrationSpec(Narration(model="small", voice="alice", **passed))

    stored = json.loads(encode_spec(spec))["request"]
    shown = request.model_dump(mode="json", include=set(SpeechOptions.model_fields))
    assert {name: stored[name] for name in shown} == shown
    assert decode_spec(encode_spec(spec)) == spec


def test_a_submission_is_one_document_that_lacks_its_trace_alone() -> None:
    given = dataclasses.replace(
        submission(idempotency=IdempotencyKey("key", "f" * 64), metadata={"book": "42"}),
        deadline_ms=5,
        webhook=WebhookTarget(Target("h:alice:1"), url="https://receiver.example.org/x"),
        batch=JobId("bat_1"),
        trace="00-1-1-01",
        key_id="key_1",
        not_before_ms=3,
        whole=WholePlan("{}", 1, "Once", (TextWarning("language_mismatch", "French"),)),
    )
    defaults = {each.name: each.default for each in dataclasses.fields(Submission)}
    assert [name for name, default in defaults.items() if getattr(given, name) == default] == []

    document = encode_submission(given)

    assert "\n" not in document
    assert decode_submission(document.encode()) == dataclasses.replace(given, trace="")
