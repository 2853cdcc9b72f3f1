"""Text that the model cannot read fails at once and is nobody's emergency; text that will sound wrong is told of."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import redis

from reading.drafting.languages import is_english, language_warnings
from reading.plan.plan import PlanSegment
from reading.script.entries import ScriptEntry, encode_entries
from rhapsode.contract.jobs.input import NarrationInput, SourceType
from rhapsode.contract.jobs.states import JobState
from storage.jobs.record import JobRecord
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.spec import NarrationSpec
from storage.queue.dead_letters import DeadLetters
from tests.worker.planning.test_script_inputs import submit
from tests.worker.studio import SPEC, Studio

ENGLISH = replace(SPEC, languages=("english",))
GERMAN_TEXT = "Guten Tag, wie geht es Ihnen heute? Es ist nicht weit, und wir haben noch Zeit."


def planned_record(studio: Studio, data: bytes, spec: NarrationSpec = ENGLISH) -> JobRecord:
    job = submit(studio, data, spec)
    studio.run_one(CPU_QUEUE)
    return studio.record(job)


def test_a_text_in_other_letters_fails_at_once_and_no_operator_hears_of_it(
    studio: Studio, redis_client: redis.Redis
) -> None:
    record = planned_record(studio, "Good morning. 今天天气很好，我们去公园。".encode())

    assert record.state is JobState.FAILED
    assert record.error is not None
    assert (record.error.code, record.retries, record.segments.total) == ("unsupported_language", 0, 0)
    assert record.error.detail == (
        "from character 14 on the text is in Chinese characters, which no language of fake is written with; "
        "it speaks: english"
    )
    assert DeadLetters(redis_client).list(None, 10) == ()


def test_what_we_got_wrong_is_still_an_operators_matter(studio: Studio, redis_client: redis.Redis) -> None:
    job = submit(studio, b"Hello.", ENGLISH)
    studio.artifacts.delete(job.input_key)

    studio.run_one(CPU_QUEUE)

    assert studio.record(job).state is JobState.FAILED
    assert [each.code for each in DeadLetters(redis_client).list(None, 10)] == ["internal"]


def test_a_text_in_another_language_is_spoken_and_the_job_says_what_it_will_sound_like(studio: Studio) -> None:
    job = submit(studio, GERMAN_TEXT.encode(), ENGLISH)

    record = studio.drained(job)

    assert record.state is JobState.SUCCEEDED
    assert [(each.code, each.detail) for each in record.warnings if each.code != "quality_uncalibrated"] == [
        ("language_mismatch", "from character 0 on the text seems to be in german, and fake reads it as english")
    ]


def test_a_plan_alone_says_it_too(studio: Studio) -> None:
    record = planned_record(studio, GERMAN_TEXT.encode(), ENGLISH.asking(validate_only=True))

    shown = json.loads(studio.artifacts.get(record.artifacts[0].key))
    assert [each["code"] for each in shown["warnings"]] == ["language_mismatch"]


def test_a_few_other_letters_are_counted(studio: Studio) -> None:
    record = planned_record(studio, "The angle α is π over four, as everybody here knows.".encode())

    assert [(each.code, each.detail) for each in record.warnings] == [
        ("foreign_letters", "2 letters are of no language that fake speaks (english), and may sound wrong")
    ]


def test_each_passage_is_held_against_its_own_language(studio: Studio) -> None:
    entries = [ScriptEntry("It is not far, and we have time."), ScriptEntry(GERMAN_TEXT, language="german")]
    spec = replace(ENGLISH.asking(input=NarrationInput(type=SourceType.SEGMENTS)), languages=("english", "german"))

    right = planned_record(studio, encode_entries(entries), spec)
    wrong = planned_record(studio, encode_entries(entries), spec.asking(language="english"))
    swapped = planned_record(
        studio, encode_entries([entries[0], replace(entries[1], language="english")]), spec.asking(language="auto")
    )

    assert (right.warnings, wrong.warnings) == ((), ())
    assert [each.code for each in swapped.warnings] == ["language_mismatch"]
    assert swapped.warnings[0].detail.startswith("from character 34 on the text seems to be in german")


def test_a_foreign_passage_within_a_long_text_is_found_where_it_begins() -> None:
    english = "And so it was that the old man went down to the river with his dog. "
    texts = [english * 5, english * 5, GERMAN_TEXT * 5, english * 5]
    segments = [PlanSegment(i, i * 1000, (i + 1) * 1000, text, 0.0) for i, text in enumerate(texts)]

    (warning,) = language_warnings(segments, ENGLISH)

    assert warning.detail.startswith("from character 2000 on the text seems to be in german")


def test_a_job_of_an_earlier_release_is_not_judged(studio: Studio) -> None:
    record = planned_record(studio, "今天天气很好，我们去公园。".encode(), SPEC)

    assert (record.state, record.warnings, record.segments.total) == (JobState.RUNNING, (), 1)


@pytest.mark.parametrize(
    ("text", "language", "is_so"),
    [
        ('"Has the post come?" he asked her. "It is not here, and it will not be."', "auto", True),
        ('"Has the post come?" he asked her. "Нет, почта ещё не пришла сегодня."', "auto", True),
        ('"Has the post come?" he asked her.', "german", False),
        (GERMAN_TEXT, "auto", False),
        ("「郵便は来ましたか」と彼は彼女に尋ねました。", "auto", False),
    ],
    ids=["English", "English with Russian", "another language named", "German", "Japanese"],
)
def test_speakers_are_looked_for_in_english_alone(text: str, language: str, is_so: bool) -> None:
    assert is_english(text, replace(SPEC, request=SPEC.request.model_copy(update={"language": language}))) is is_so
