"""What an earlier job of the same tenant spoke is copied, checked and counted; anything else is spoken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rhapsode.contract.jobs.narration import SegmentLengths
from rhapsode.contract.jobs.options import Sampling
from rhapsode.contract.jobs.quality import Gate, OnExhausted, Quality
from rhapsode.contract.jobs.states import JobState
from storage.jobs.record import JobRecord
from storage.narration.spec import NarrationSpec
from storage.objects import keys
from storage.objects.keys import job_prefix
from tests.worker.faulty_engine import FaultyEngine
from tests.worker.speech.quality.defects import SPOILS
from tests.worker.studio import SPEC, TENANT, Studio
from worker.speech.audio.segment_audio import decode_segment

SPEC_ANY_SEED = replace(SPEC.asking(segmentation=SegmentLengths(target_chars=20, max_chars=60)), seed_fixed=False)


def sentences(count: int) -> list[str]:
    return [f"This is sentence number {number} of the book." for number in range(count)]


def counting(studio: Studio) -> tuple[Studio, FaultyEngine]:
    """An engine that remembers what it was asked for, and does nothing wrong."""
    engine = FaultyEngine({}, 0.0)
    return replace(studio, services=replace(studio.services, engine=engine)), engine


def finished(studio: Studio, text: str, spec: NarrationSpec = SPEC_ANY_SEED) -> JobRecord:
    job = studio.submit(text, spec)
    record = studio.drained(job)
    assert record.state is JobState.SUCCEEDED, record.error
    return record


def wav_sha256(record: JobRecord) -> str:
    return next(each.sha256 for each in record.artifacts if each.name == "narration.wav")


def test_an_edited_book_speaks_only_what_changed(studio: Studio) -> None:
    counted, engine = counting(studio)
    book = sentences(200)
    first = finished(counted, " ".join(book))
    spoken = len(engine.requests)

    book[100] = "Here the author changed her mind."
    second = finished(counted, " ".join(book))

    spoken_again = len(engine.requests) - spoken
    assert spoken == first.segments.total == 200
    assert 1 <= spoken_again <= 3
    assert second.segments.reused == second.segments.total - spoken_again
    assert 0 < second.samples_reused < second.samples_done


@pytest.mark.long
def test_one_sentence_of_a_thousand_costs_one_segment(studio: Studio) -> None:
    counted, engine = counting(studio)
    book = sentences(1_000)
    finished(counted, " ".join(book))
    spoken = len(engine.requests)

    book.insert(500, "A sentence was put in.")
    record = finished(counted, " ".join(book))

    print(f"\nsynthesised again: {len(engine.requests) - spoken} of {record.segments.total} segments")  # noqa: T201
    assert len(engine.requests) - spoken <= 3


def test_a_copy_is_the_same_audio_under_the_new_job_s_name(studio: Studio) -> None:
    first, second = (finished(studio, "One sentence. Another one.") for _ in range(2))

    assert wav_sha256(first) == wav_sha256(second)
    result = studio.jobs.segment_results(TENANT, second.id)[0]
    segment = decode_segment(studio.artifacts.get(keys.segment(TENANT, second.id, 0, result.fence)))
    assert (result.reused, result.attempts) == (True, 0)
    assert (segment.header.job, segment.header.fence, segment.header.reused_from) == (
        second.id,
        result.fence,
        first.id,
    )


def test_a_copy_outlives_what_it_was_copied_from_and_is_copied_again(studio: Studio) -> None:
    counted, engine = counting(studio)
    first = finished(counted, "One sentence only.")
    second = finished(counted, "One sentence only.")
    counted.jobs.delete(TENANT, first.id)
    counted.artifacts.delete_prefix(job_prefix(TENANT, first.id))

    third = finished(counted, "One sentence only.")

    assert len(engine.requests) == 1
    assert second.segments.reused == third.segments.reused == 1
    assert wav_sha256(third) == wav_sha256(second)


@pytest.mark.parametrize("damage", ["missing", "other bytes"])
def test_what_is_lost_or_damaged_is_spoken(studio: Studio, damage: str) -> None:
    counted, engine = counting(studio)
    first = finished(counted, "One sentence only.")
    result = counted.jobs.segment_results(TENANT, first.id)[0]
    key = keys.segment(TENANT, first.id, 0, result.fence)
    counted.artifacts.delete(key)
    if damage == "other bytes":
        counted.artifacts.put(key, b"something else")

    second = finished(counted, "One sentence only.")

    assert len(engine.requests) == 2
    assert second.segments.reused == 0


@pytest.mark.parametrize(
    "other",
    [
        replace(SPEC_ANY_SEED.asking(seed=8), seed_fixed=True),
        SPEC_ANY_SEED.asking(voice="tom"),
        SPEC_ANY_SEED.asking(language="english"),
        SPEC_ANY_SEED.asking(instructions="softly"),
        SPEC_ANY_SEED.asking(sampling=Sampling(temperature=0.5)),
        SPEC_ANY_SEED.asking(quality=Quality(gate=Gate.OFF)),
    ],
)
def test_another_sound_is_spoken(studio: Studio, other: NarrationSpec) -> None:
    counted, engine = counting(studio)
    finished(counted, "One sentence only.")

    record = finished(counted, "One sentence only.", other)

    assert len(engine.requests) == 2
    assert record.segments.reused == 0


def test_without_reuse_the_same_seed_is_heard_to_give_the_same_audio(studio: Studio) -> None:
    counted, engine = counting(studio)
    chosen = replace(SPEC_ANY_SEED, seed_fixed=True)
    first = finished(counted, "One sentence only.", chosen)

    again = finished(counted, "One sentence only.", chosen.asking(reuse=False))
    later = finished(counted, "One sentence only.", chosen)

    assert len(engine.requests) == 2
    assert [each.segments.reused for each in (first, again, later)] == [0, 0, 1]
    assert wav_sha256(first) == wav_sha256(again)


def test_a_refrain_is_not_the_same_recording_twice(studio: Studio) -> None:
    counted, engine = counting(studio)
    text = "\n\n".join(["The refrain comes again.", "A verse stands between."] * 3)

    finished(counted, text)
    record = finished(counted, text)

    assert len({request.seed for request in engine.requests}) == len(engine.requests) == 6
    assert record.segments.reused == 6


def test_what_did_not_pass_is_offered_to_no_job(studio: Studio) -> None:
    engine = FaultyEngine({"runaway": SPOILS["runaway"]}, 1.0)
    faulty = replace(studio, services=replace(studio.services, engine=engine))
    keep = SPEC_ANY_SEED.asking(quality=Quality(max_attempts=1, on_exhausted=OnExhausted.KEEP_BEST))

    finished(faulty, "One sentence only.", keep)
    record = finished(faulty, "One sentence only.", keep)

    assert len(engine.requests) == 2
    assert (record.segments.reused, record.segments.flagged) == (0, 1)
