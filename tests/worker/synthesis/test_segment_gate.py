"""Segments are spoken again until they pass, and what never passes is failed, kept or silenced, as the job wants."""

from __future__ import annotations

import functools
import json
from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import pytest
import redis

from rhapsode.contract.jobs.narration import SegmentLengths
from rhapsode.contract.jobs.quality import Gate, OnExhausted, Quality
from rhapsode.contract.jobs.states import JobState
from storage.job_store.control import JobControl
from storage.job_store.segment_reads import SegmentReader
from storage.jobs.record import JobRecord
from storage.objects import keys
from storage.runtime.config.settings import StorageSettings
from storage.runtime.observability.metrics import REGISTRY
from tests.storage.job_store.event_log import EventLog
from tests.worker.faulty_engine import FaultyEngine
from tests.worker.speech.quality.defects import SPOILS, Spoil
from tests.worker.studio import GPU_QUEUE, SPEC, TENANT, Studio
from worker.engine.fake import SAMPLE_RATE_HZ, fake_speech
from worker.engine.interface import Engine, FinishReason, OnAudio, Speech, SpeechRequest
from worker.speech.audio.segment_audio import SegmentAudio, decode_segment
from worker.speech.quality.calibration.calibration_file import (
    Calibration,
    SpeechBounds,
    calibrated_bounds,
    measured_example,
)
from worker.speech.quality.gate import QualityGate
from worker.speech.quality.listening import RecogniserPool, Recognisers
from worker.speech.quality.verdict import measured_verdict
from worker.synthesis.manners import REROLL_TEMPERATURE, halves

WORDS = tuple("rain falls softly on the quiet garden where nobody walks anymore today because it is late".split())  # noqa: SIM905
SHORT = SPEC.asking(segmentation=SegmentLengths(target_chars=20, max_chars=80))
LONG = SPEC.asking(segmentation=SegmentLengths(target_chars=100, max_chars=200))
ALWAYS = 1.0


def sentence(number: int) -> str:
    dice = np.random.default_rng(number)
    return " ".join(dice.choice(WORDS, int(dice.integers(4, 12)))).capitalize() + f" {number}."


TEXT = sentence(7)
HALVES = halves(TEXT) or ()
FAILING = LONG.asking(quality=Quality(on_exhausted=OnExhausted.FAIL))
OTHER = sentence(8)


def fake_bounds() -> SpeechBounds:
    """As `worker.speech.quality.calibration.calibrate` would measure the fake engine."""
    texts = [sentence(number) for number in range(5_000, 5_060)]
    spoken = [Speech(*fake_speech(text, 1), SAMPLE_RATE_HZ, FinishReason.EOS, 0.0) for text in texts]
    return calibrated_bounds([measured_example(text, "", one) for text, one in zip(texts, spoken, strict=True)])


@functools.cache
def calibration() -> Calibration:
    """Made at the first use: every process of pytest imports this file."""
    return Calibration("fake-1", {"english": 60}, {"english": fake_bounds()})


def with_engine(studio: Studio, engine: Engine, recognisers: Recognisers | None = None) -> Studio:
    """The studio with another engine, and a calibrated gate."""
    gate = QualityGate(calibration(), recognisers or {}, measured_verdict)
    return replace(studio, services=replace(studio.services, engine=engine, quality=gate))


def with_spoil(studio: Studio, name: str) -> tuple[Studio, FaultyEngine]:
    engine = FaultyEngine({name: SPOILS[name]}, ALWAYS)
    return with_engine(studio, engine), engine


def counted(what: str, **labels: str) -> float:
    """What this process's quality gate has counted so far; over all values of a label that is not given."""
    samples = (sample for family in REGISTRY.collect() for sample in family.samples)
    name, wanted = f"rhapsode_gate_{what}_total", labels.items()
    return sum(sample.value for sample in samples if sample.name == name and wanted <= sample.labels.items())


def segment_of(studio: Studio, job: JobRecord, index: int = 0) -> SegmentAudio:
    result = next(r for r in studio.jobs.segment_results(TENANT, job.id) if r.index == index)
    return decode_segment(studio.artifacts.get(keys.segment(TENANT, job.id, index, result.fence)))


def check_book_with_defects(studio: Studio, num_sentences: int, share: float) -> None:
    """Runaways, silence, repeats, early stops, NaN: what was injected was spoken again, and nothing else."""
    engine = FaultyEngine(SPOILS, share)
    faulty, rerolls_before = with_engine(studio, engine), counted("rerolls")
    spec = SHORT.asking(quality=Quality(max_attempts=6))
    job = faulty.submit(" ".join(sentence(number) for number in range(num_sentences)), spec)

    record = faulty.drained(job)

    results = faulty.jobs.segment_results(TENANT, job.id)
    print(f"\n{record.segments.total} segments, {len(engine.injected)} defects, {record.rerolls} re-rolls")  # noqa: T201
    assert record.state is JobState.SUCCEEDED, record.error
    assert len(engine.injected) >= share * num_sentences / 2
    assert record.rerolls == counted("rerolls") - rerolls_before == len(engine.injected)
    assert sum(result.attempts for result in results) == len(engine.requests) == record.segments.total + record.rerolls
    assert (record.segments.flagged, record.warnings) == (0, ())
    assert record.retries == 0


def test_a_book_with_defects_succeeds_and_every_one_was_spoken_again(studio: Studio) -> None:
    check_book_with_defects(studio, 120, 0.1)


@pytest.mark.long
def test_so_does_a_thousand_segments_with_the_defects_of_a_bad_day(studio: Studio) -> None:
    check_book_with_defects(studio, 1_000, 0.02)


@pytest.mark.parametrize("name", ["early_stop", "not_a_number", "swallowed", "runaway"])
def test_a_segment_that_never_passes_fails_the_job_that_wants_it_so(studio: Studio, name: str) -> None:
    faulty, engine = with_spoil(studio, name)
    job = faulty.submit(TEXT, FAILING)

    record = faulty.drained(job)

    assert record.state is JobState.FAILED
    assert record.error is not None
    assert (record.error.code, record.error.segment) == ("segment_quality", 0)
    assert "3 attempts" in record.error.detail
    assert [request.text for request in engine.requests] == [TEXT, TEXT, *HALVES]
    assert len({request.seed for request in engine.requests}) == 3


def test_a_retried_job_goes_on_with_seeds_that_it_has_not_tried(
    studio: Studio, redis_client: redis.Redis, storage_settings: StorageSettings
) -> None:
    """Six early stops in a row: the first three fail the job, the next three its retry."""
    faulty, engine = with_spoil(studio, "early_stop")
    job = faulty.submit(TEXT, FAILING)
    faulty.drain()

    JobControl(redis_client, storage_settings.key_prefix).retry(TENANT, job.id)
    record = faulty.drained(job)

    assert (record.state, record.run, record.rerolls) == (JobState.FAILED, 1, 4)
    assert len({request.seed for request in engine.requests}) == 6


def test_the_least_bad_attempt_is_kept_with_its_flags_and_a_warning(studio: Studio, redis_client: redis.Redis) -> None:
    faulty, _ = with_spoil(studio, "early_stop")
    job = faulty.submit(TEXT, LONG)

    record = faulty.drained(job)

    header = segment_of(faulty, job).header
    (warning,) = record.warnings
    assert (record.state, record.segments.flagged, record.rerolls) == (JobState.SUCCEEDED, 1, 2)
    assert (warning.code, warning.segment) == ("segment_quality", 0)
    assert "its end is cut off" in warning.detail
    assert "cut_end" in header.flags
    assert [(tried.number, tried.parts) for tried in header.tried] == [(1, 1), (2, 1), (3, 2)]
    assert header.seed == header.tried[header.attempt - 1].seed
    flagged = [event for event in EventLog(redis_client).read(job.id) if event.type == "job.segment.flagged"]
    assert [event.data["segment"] for event in flagged] == [0]


def hushed(speech: Speech, _: np.random.Generator) -> Speech:
    return replace(speech, pcm=np.zeros_like(speech.pcm))


class Mute(FaultyEngine):
    """Says nothing that can be heard of one text, or of its halves."""

    def __init__(self, text: str) -> None:
        super().__init__({"hushed": hushed}, 0.0)
        self._text = text

    def submit(self, request: SpeechRequest, on_audio: OnAudio | None = None) -> Future[Speech]:
        self._share = float(request.text in (self._text, *(halves(self._text) or ())))
        return super().submit(request, on_audio)


def muted(studio: Studio, quality: Quality) -> tuple[Studio, JobRecord]:
    """A job of two segments of which the second is never heard, at its end."""
    faulty = with_engine(studio, Mute(OTHER))
    spec = LONG.asking(segmentation=SegmentLengths(target_chars=20, max_chars=200), quality=quality)
    job = faulty.submit(f"{TEXT}\n\n{OTHER}", spec)
    faulty.drain()
    return faulty, faulty.record(job)


def test_what_cannot_be_heard_at_all_fails_the_job_and_is_there_to_listen_to(
    studio: Studio, redis_client: redis.Redis
) -> None:
    faulty, record = muted(studio, Quality())

    states = SegmentReader(redis_client).states(record.id)
    rejection = states.rejections[1]
    assert record.state is JobState.FAILED
    assert record.error is not None
    assert (record.error.code, record.error.segment) == ("segment_quality", 1)
    assert "it is silent" in record.error.detail
    assert list(states.results) == [0]
    assert [(take.tried.number, take.tried.parts, take.tried.findings) for take in rejection.takes] == [
        (1, 1, ("silent",)),
        (2, 1, ("silent",)),
        (3, 2, ("silent",)),
    ]
    for take in rejection.takes:
        key = keys.rejected_take(TENANT, record.id, 1, rejection.fence, take.tried.number)
        heard = decode_segment(faulty.artifacts.get(key))
        assert len(heard.pcm) == take.num_samples
        assert heard.header.seed == take.tried.seed


def test_or_leaves_a_listed_gap(studio: Studio) -> None:
    faulty, record = muted(studio, Quality(on_exhausted=OnExhausted.KEEP_BEST_OR_GAP))

    segment = segment_of(faulty, record, 1)
    (warning,) = record.warnings
    expected = fake_bounds().duration
    manifest = json.loads(
        faulty.artifacts.get(next(each.key for each in record.artifacts if each.name == "manifest.json"))
    )
    assert expected is not None
    assert record.state is JobState.SUCCEEDED
    assert (warning.code, warning.segment) == ("segment_gap", 1)
    assert not segment.pcm.any()
    assert len(segment.pcm) / SAMPLE_RATE_HZ == pytest.approx(expected.expected_s(OTHER), abs=0.1)
    assert segment.header.flags == ("silent", "silenced")
    assert (segment.header.attempt, segment.codes.shape) == (0, (0, 16))
    assert [(gap["segment"], gap["text"], gap["findings"]) for gap in manifest["gaps"]] == [(1, OTHER, ["silent"])]


def test_a_narration_of_gaps_alone_has_failed(studio: Studio) -> None:
    faulty, _ = with_spoil(studio, "not_a_number")
    job = faulty.submit(TEXT, LONG.asking(quality=Quality(on_exhausted=OnExhausted.SILENCE)))

    record = faulty.drained(job)

    assert record.state is JobState.FAILED
    assert record.error is not None
    assert (record.error.code, record.error.detail) == (
        "segment_quality",
        "nothing of the text could be spoken: every segment is a gap",
    )


class Refusing(FaultyEngine):
    """Does not take one text."""

    def __init__(self, text: str) -> None:
        super().__init__(SPOILS, 0.0)
        self._text = text

    def submit(self, request: SpeechRequest, on_audio: OnAudio | None = None) -> Future[Speech]:
        if request.text == self._text:
            return super().submit(replace(request, language="klingon"), on_audio)
        return super().submit(request, on_audio)


def test_a_text_that_the_engine_refuses_is_tried_once_and_may_be_a_gap(studio: Studio) -> None:
    engine = Refusing(OTHER)
    faulty = with_engine(studio, engine)
    spec = LONG.asking(segmentation=SegmentLengths(target_chars=20, max_chars=200))
    strict = faulty.submit(f"{TEXT}\n\n{OTHER}", spec)
    lenient = faulty.submit(
        f"{TEXT}\n\n{OTHER}", spec.asking(quality=Quality(on_exhausted=OnExhausted.KEEP_BEST_OR_GAP))
    )

    faulty.drain()

    failed, gapped = faulty.record(strict), faulty.record(lenient)
    assert failed.error is not None
    assert (failed.error.code, failed.error.detail) == (
        "invalid_request",
        "unknown language 'klingon'",
    )
    assert (gapped.state, [each.code for each in gapped.warnings]) == (JobState.SUCCEEDED, ["segment_gap"])
    assert faulty.record(strict).rerolls == 0


def test_a_retake_of_a_greedy_checkpoint_is_drawn(studio: Studio, redis_client: redis.Redis) -> None:
    """Every take of a checkpoint that takes the most likely code would be the same speech."""
    engine = Greedy()
    greedy = with_engine(studio, engine)
    job = greedy.submit(TEXT, LONG)
    greedy.drain()

    JobControl(redis_client).regenerate(TENANT, job.id, 0, None, None)
    greedy.drain()

    assert [request.sampling.talker.temperature for request in engine.requests] == [0.0, REROLL_TEMPERATURE]
    assert segment_of(greedy, job).header.take == 2


def test_the_frame_limit_is_doubled_where_it_was_the_cause(studio: Studio) -> None:
    """An engine that takes three times the frames that the first limit allows gets them with the third attempt."""

    def slow(speech: Speech, _: np.random.Generator) -> Speech:
        return speech if budget_of(engine) >= 40 else replace(speech, finish_reason=FinishReason.LENGTH)

    def budget_of(engine: FaultyEngine) -> int:
        return engine.requests[-1].max_frames or 0

    spoils: dict[str, Spoil] = {"slow": slow}
    engine = FaultyEngine(spoils, ALWAYS)
    faulty = with_engine(studio, engine)
    job = faulty.submit(TEXT, LONG)

    faulty.drain()

    budgets = [request.max_frames for request in engine.requests]
    assert budgets[0] is None
    assert budgets[1] == 2 * (4 + len(TEXT) // 2)
    assert faulty.record(job).state is JobState.SUCCEEDED


def test_without_a_gate_only_what_is_no_audio_is_refused(studio: Studio) -> None:
    faulty, engine = with_spoil(studio, "early_stop")
    job = faulty.submit(TEXT, LONG.asking(quality=Quality(gate=Gate.OFF)))

    faulty.drain()

    assert faulty.record(job).state is JobState.SUCCEEDED
    assert len(engine.requests) == 1


class Greedy(FaultyEngine):
    """Decodes as the small checkpoint does."""

    def __init__(self) -> None:
        super().__init__(SPOILS, 0.0)
        sampling = self.info.default_sampling
        greedy = replace(sampling, talker=replace(sampling.talker, temperature=0.0))
        self.info = replace(self.info, default_sampling=greedy)


class Parrot:
    """A recogniser that reads what it was told."""

    def __init__(self, text: str) -> None:
        self.text = text

    def transcribe(self, pcm: object, sample_rate_hz: int) -> str:
        return self.text


@pytest.mark.parametrize(("heard", "state"), [(TEXT, "succeeded"), ("Something else.", "failed")])
def test_the_gate_asr_reads_the_speech_back(studio: Studio, heard: str, state: str) -> None:
    parrot = RecogniserPool(lambda: Parrot(heard))
    listening = with_engine(studio, studio.services.engine, {"english": parrot})
    quality = Quality(gate=Gate.ASR, max_attempts=1, on_exhausted=OnExhausted.FAIL)
    spec = LONG.asking(language="english", quality=quality)
    job = listening.submit(TEXT, spec)

    record = listening.drained(job)

    assert record.state == state
    if record.error:
        assert "other words in a row" in record.error.detail


def test_a_language_that_no_recogniser_reads_is_flagged_and_never_passed_off_as_read(studio: Studio) -> None:
    deaf = with_engine(studio, studio.services.engine)
    job = deaf.submit("Es war still.", LONG.asking(language="german", quality=Quality(gate=Gate.ASR)))

    record = deaf.drained(job)

    assert (record.state, record.segments.flagged) == (JobState.SUCCEEDED, 1)
    assert "not read back" in record.warnings[0].detail


def test_a_cancelled_job_is_not_tried_again(studio: Studio) -> None:
    def cancel(speech: Speech, _: np.random.Generator) -> Speech:
        studio.jobs.cancel(TENANT, job.id)
        studio.services.worker.leases.extend_now()
        return replace(speech, finish_reason=FinishReason.LENGTH)

    spoils: dict[str, Spoil] = {"cancel": cancel}
    engine = FaultyEngine(spoils, ALWAYS)
    faulty = with_engine(studio, engine)
    job = faulty.submit(TEXT, LONG)
    faulty.run_until(GPU_QUEUE)

    faulty.run_one(GPU_QUEUE)

    assert faulty.record(job).state is JobState.CANCELLED
    assert len(engine.requests) == 1


def test_a_segment_that_leaves_the_pace_of_its_job_is_found_without_calibration(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This engine was not measured; after sixteen segments the job itself says what is usual."""
    monkeypatch.setattr("worker.speech.quality.norms_cache.UNKNOWN_AGE_S", 0.0)
    cut = replace(studio.services, engine=FaultyEngine({"half": half}, 0.15))
    faulty, before = replace(studio, services=cut), counted("defects", defect="too_fast")
    texts = " ".join(" ".join(WORDS) + f" {number}." for number in range(60))
    spec = LONG.asking(quality=Quality(max_attempts=5))
    job = faulty.submit(texts, spec)

    record = faulty.drained(job)

    assert record.state is JobState.SUCCEEDED
    assert counted("defects", defect="too_fast") > before


def half(speech: Speech, _: np.random.Generator) -> Speech:
    """Stops in the middle of a word, quietly."""
    frames = len(speech.frames) // 3
    pcm = speech.pcm[: len(speech.pcm) * frames // len(speech.frames)].copy()
    pcm[-4_800:] = 0
    return replace(speech, pcm=pcm, frames=speech.frames[:frames])
