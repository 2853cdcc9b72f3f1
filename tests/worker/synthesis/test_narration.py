"""A job from text to artifacts, item by item in this process: every sample of the result is known."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import pytest
import soundfile
from safetensors.numpy import load

from rhapsode.contract.jobs.input import Pauses
from rhapsode.contract.jobs.narration import SegmentLengths
from rhapsode.contract.jobs.quality import OnExhausted, Quality
from rhapsode.contract.jobs.states import JobState
from storage.jobs.record import ArtifactRecord, JobRecord
from storage.jobs.work_queues import speech_queue
from storage.narration.spec import NarrationSpec
from storage.objects import keys
from storage.segments.timeline import MARGIN_S
from tests.worker.expected import expected_narration
from tests.worker.studio import SPEC, TENANT, TEXT, Studio
from worker.engine.fake import FakeEngine
from worker.engine.interface import OnAudio, Speech, SpeechRequest
from worker.engine.settings import FakeEngineSettings
from worker.speech.audio.segment_audio import decode_segment


class EndlessEngine(FakeEngine):
    """No utterance ends by itself before its third frame."""

    def submit(self, request: SpeechRequest, on_audio: OnAudio | None = None) -> Future[Speech]:
        return super().submit(replace(request, max_frames=3), on_audio)


def artifact(record: JobRecord, name: str) -> ArtifactRecord:
    return next(each for each in record.artifacts if each.name == name)


def test_a_narration_holds_every_sample_in_order(studio: Studio) -> None:
    job = studio.submit()

    record = studio.drained(job)

    assert record.state is JobState.SUCCEEDED, record.error
    expected = expected_narration(TEXT, SPEC)
    wav = studio.artifacts.get(artifact(record, "narration.wav").key)
    samples, rate = soundfile.read(io.BytesIO(wav), dtype="int16")
    assert rate == 24_000
    assert np.array_equal(samples, expected.samples)
    assert len(wav) == 44 + 2 * len(samples)
    assert record.segments.done == record.segments.total == expected.num_segments
    assert record.chars_done == len(TEXT)


def test_codec_frames_of_every_segment_are_kept(studio: Studio) -> None:
    job = studio.submit()

    studio.drain()

    tensors = load(studio.artifacts.get(artifact(studio.record(job), "codes.safetensors").key))
    expected = expected_narration(TEXT, SPEC)
    assert np.array_equal(tensors["codes"], expected.frames)
    assert tensors["segment_offsets"][-1] == len(expected.frames)
    assert len(tensors["segment_offsets"]) == expected.num_segments + 1


def test_the_manifest_says_what_was_spoken_where(studio: Studio) -> None:
    job = studio.submit()

    record = studio.drained(job)

    manifest = json.loads(studio.artifacts.get(artifact(record, "manifest.json").key))
    wav = artifact(record, "narration.wav")
    rows = manifest["segments"]
    assert "".join(TEXT[row["start"] : row["end"]] for row in rows) == TEXT
    assert rows[0]["start_s"] == pytest.approx(MARGIN_S)
    for row, following in itertools.pairwise(rows):
        assert following["start_s"] - row["start_s"] - row["duration_s"] == pytest.approx(row["pause_after_s"])
    assert {row["finish_reason"] for row in rows} == {"eos"}
    assert manifest["totals"]["duration_s"] == wav.duration_s
    assert manifest["artifacts"][0]["sha256"] == wav.sha256
    assert manifest["settings"]["seed"] == SPEC.request.seed
    assert manifest["revisions"] == ["fake-1"]


def test_artifacts_are_what_their_records_say(studio: Studio) -> None:
    job = studio.submit()

    studio.drain()

    for each in studio.record(job).artifacts:
        data = studio.artifacts.get(each.key)
        assert (len(data), hashlib.sha256(data).hexdigest()) == (each.bytes, each.sha256)


def test_the_same_job_twice_gives_the_same_bytes(studio: Studio) -> None:
    jobs = [studio.submit(), studio.submit()]

    studio.drain()

    for name in ("narration.wav", "codes.safetensors"):
        first, second = (artifact(studio.record(job), name).sha256 for job in jobs)
        assert first == second


def test_another_seed_gives_another_narration(studio: Studio) -> None:
    jobs = [studio.submit(), studio.submit(spec=SPEC.asking(seed=8))]

    studio.drain()

    first, second = (artifact(studio.record(job), "narration.wav").sha256 for job in jobs)
    assert first != second


def test_line_breaks_inside_a_sentence_are_not_spoken(studio: Studio) -> None:
    job = studio.submit("A sentence that\n  was wrapped.")

    studio.drain()

    result = studio.jobs.segment_results(TENANT, job.id)[0]
    segment = decode_segment(studio.artifacts.get(keys.segment(TENANT, job.id, 0, result.fence)))
    assert segment.header.text_sha256 == hashlib.sha256(b"A sentence that was wrapped.").hexdigest()


def test_long_pauses_are_written_in_full(studio: Studio) -> None:
    spec = SPEC.asking(pauses=Pauses(sentence_s=7.5, paragraph_s=0))
    job = studio.submit("First sentence here. Second sentence here.", spec)

    studio.drain()

    samples, _ = soundfile.read(
        io.BytesIO(studio.artifacts.get(artifact(studio.record(job), "narration.wav").key)), dtype="int16"
    )
    assert np.array_equal(samples, expected_narration("First sentence here. Second sentence here.", spec).samples)


def test_a_job_longer_than_its_window_is_finished(studio: Studio) -> None:
    text = "A word. " * 100
    job = studio.submit(text, SPEC.asking(segmentation=SegmentLengths(target_chars=5, max_chars=20)))

    studio.drain()

    assert studio.record(job).segments.done == 100
    assert studio.services.worker.plans.misses == 1


def test_a_segment_that_never_stops_is_kept_and_named_if_the_job_wants_that(studio: Studio) -> None:
    endless = replace(studio, services=replace(studio.services, engine=EndlessEngine(FakeEngineSettings(step_s=0))))
    spec = SPEC.asking(quality=Quality(max_attempts=2, on_exhausted=OnExhausted.KEEP_BEST))
    job = studio.submit("One sentence only.", spec)

    endless.drain()

    record = studio.record(job)
    manifest = json.loads(studio.artifacts.get(artifact(record, "manifest.json").key))
    assert record.state is JobState.SUCCEEDED
    assert manifest["segments"][0]["finish_reason"] == "length"
    assert manifest["totals"]["segments_at_length_limit"] == 1
    assert (record.segments.flagged, record.rerolls) == (1, 1)
    assert [warning.code for warning in record.warnings] == ["segment_quality", "quality_uncalibrated"]


def test_a_job_of_a_model_without_workers_waits(studio: Studio) -> None:
    job = studio.submit(spec=SPEC.asking(model="another"))
    mine = studio.submit()

    waiting = studio.drained(job)

    assert studio.record(mine).state is JobState.SUCCEEDED
    assert (waiting.state, waiting.segments.done, waiting.retries) == (JobState.RUNNING, 0, 0)
    assert studio.jobs.ready_counts() == {speech_queue("another"): waiting.segments.total}


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        (SPEC.asking(voice="nobody"), "invalid_request"),
        (SPEC.asking(language="klingon"), "invalid_request"),
    ],
)
def test_what_the_model_cannot_do_fails_the_job(studio: Studio, spec: NarrationSpec, code: str) -> None:
    job = studio.submit(spec=spec)

    record = studio.drained(job)

    assert record.state is JobState.FAILED
    assert record.error is not None
    assert record.error.code == code


def test_a_text_of_symbols_fails_the_job(studio: Studio) -> None:
    job = studio.submit("*** --- ***")

    studio.drain()

    error = studio.record(job).error
    assert error is not None
    assert error.code == "invalid_request"


def test_a_text_that_is_gone_fails_the_job(studio: Studio) -> None:
    job = studio.submit()
    studio.artifacts.delete(job.input_key)

    studio.drain()

    error = studio.record(job).error
    assert error is not None
    assert (error.code, "not in the store" in error.detail) == ("internal", True)
