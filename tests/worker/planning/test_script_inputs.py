"""Every kind of input through the whole plan item: what is planned is what was given, and who says what is known."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace

import pytest

from reading.plan.plan import Plan, decode_plan
from reading.script.entries import ScriptEntry, encode_entries
from reading.spelling.rules import PronunciationRule, encode_rules
from rhapsode.contract.jobs.input import DocumentFormat, Emoji, NarrationInput, Normalization, SourceType, SsmlMode
from rhapsode.contract.jobs.narration import Narration, SegmentLengths
from rhapsode.contract.jobs.states import JobState, Priority
from storage.ids import new_job_id
from storage.jobs.record import JobRecord
from storage.jobs.submissions import Submission
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.cast import SpeakerVoice
from storage.narration.spec import NarrationSpec
from storage.objects import keys
from tests.worker.studio import SPEC, TENANT, Studio

MARKDOWN = b"""---
title: Two Fables
author: Aesop
---
# The Fox

A fox saw *grapes*. `code` is read.

```
not this
```

# The Crow

1. First point
2. Second point
"""


SHORT = NarrationSpec(
    Narration(model="fake", voice="ada", seed=7, segmentation=SegmentLengths(target_chars=40, max_chars=80))
)


def submit(studio: Studio, data: bytes, job_spec: NarrationSpec, dictionaries: tuple[bytes, ...] = ()) -> JobRecord:
    job = new_job_id()
    key = keys.input_text(TENANT, job)
    studio.artifacts.put(key, data)
    for index, body in enumerate(dictionaries):
        studio.artifacts.put(keys.job_dictionary(TENANT, job, index), body)
    submission = Submission(job, TENANT, job_spec, Priority.NORMAL, key, len(data), 1_000, retention_s=3600)
    return studio.jobs.submit(submission).job


def planned(studio: Studio, data: bytes, job_spec: NarrationSpec, dictionaries: tuple[bytes, ...] = ()) -> Plan:
    job = submit(studio, data, job_spec, dictionaries)
    studio.run_one(CPU_QUEUE)
    record = studio.record(job)
    assert record.plan_key is not None, record.error
    plan = decode_plan(studio.artifacts.get(record.plan_key))
    text = studio.artifacts.get(plan.text_key or record.input_key).decode()
    assert [plan.segments[0].start, plan.segments[-1].end] == [0, len(text)]
    assert all(one.end == two.start for one, two in zip(plan.segments, plan.segments[1:], strict=False))
    return plan


def failure(studio: Studio, data: bytes, job_spec: NarrationSpec) -> str:
    job = submit(studio, data, job_spec)
    studio.run_one(CPU_QUEUE)
    record = studio.record(job)
    assert record.state is JobState.FAILED
    assert record.error is not None
    return f"{record.error.code}: {record.error.detail}"


def document(document_format: DocumentFormat, *include: str) -> NarrationSpec:
    return SHORT.asking(input=NarrationInput(type=SourceType.DOCUMENT, format=document_format, include=include))


def test_a_play_is_spoken_by_its_cast(studio: Studio) -> None:
    text = "Once upon a time.\n\nFOX: Good day!\nCrow: Caw. What is it?\nTIME: noon.\n\nThe end."
    cast = (SpeakerVoice("Fox", "tom"), SpeakerVoice("CROW", "ada"))

    plan = planned(studio, text.encode(), replace(SHORT, cast=cast))

    assert [(one.speaker, " ".join(one.text.split())) for one in plan.segments] == [
        ("", "Once upon a time."),
        ("Fox", "Good day!"),
        ("CROW", "Caw. What is it? TIME: noon."),
        ("", "The end."),
    ]


def test_entries_keep_their_own_voice_language_and_pause(studio: Studio) -> None:
    entries = [
        ScriptEntry("Hello there.", id="a", speaker="Tom", pause_after_s=1.25),
        ScriptEntry("Guten Tag.", id="b", language="german", instructions="calm", seed=5),
    ]
    job_spec = replace(SHORT.asking(input=NarrationInput(type=SourceType.SEGMENTS)), cast=(SpeakerVoice("Tom", "tom"),))

    plan = planned(studio, encode_entries(entries), job_spec)

    first, second = plan.segments
    assert (first.source_id, first.speaker, first.pause_after_s) == ("a", "Tom", 1.25)
    assert (second.source_id, second.language, second.instructions, second.seed) == ("b", "german", "calm", 5)


def test_ssml_is_spoken_as_it_says(studio: Studio) -> None:
    ssml = (
        '<speak>Read <sub alias="doctor">Dr</sub> <say-as interpret-as="characters">AB</say-as>.'
        '<break time="700ms"/> <voice name="tom">I am <lang xml:lang="de-DE">Tom</lang>.</voice></speak>'
    )
    job_spec = replace(SHORT.asking(input=NarrationInput(type=SourceType.SSML)), cast=(SpeakerVoice("tom", "tom"),))

    plan = planned(studio, ssml.encode(), job_spec)

    assert [(one.text, one.speaker, one.language, one.pause_after_s) for one in plan.segments] == [
        ("Read doctor A B.", "", "", 0.7),
        ("I am", "tom", "", 0.12),
        ("Tom", "tom", "german", 0),
    ]


def test_ssml_is_as_fast_and_loud_as_it_says_and_its_marks_are_known(studio: Studio) -> None:
    ssml = (
        '<speak>It is <prosody rate="slow" volume="+3dB">so <mark name="late"/>late</prosody>. '
        '<prosody rate="fast">Go now.<mark name="gone"/></prosody></speak>'
    )
    given = NarrationInput(type=SourceType.SSML)

    plan = planned(studio, ssml.encode(), SHORT.asking(input=given))

    assert [(one.spoken_text, one.speed, one.gain_db, one.pause_after_s) for one in plan.segments] == [
        ("It is", 1.0, 0.0, 0.12),
        ("so late.", 0.8, 3.0, 0.45),
        ("Go now.", 1.25, 0.0, 0.0),
    ]
    assert [(mark.name, mark.position, mark.is_end) for mark in plan.marks] == [("late", 8, False), ("gone", 22, True)]
    job = submit(studio, ssml.encode(), SHORT.asking(input=given, validate_only=True))
    studio.drain()
    shown = json.loads(studio.artifacts.get(studio.record(job).artifacts[0].key))
    assert [(each.get("speed"), each.get("gain_db")) for each in shown["segments"]] == [
        (None, None), (0.8, 3.0), (1.25, None),
    ]  # fmt: skip
    assert shown["left_out"] == [{"kind": "mark, as output.timestamps is off", "count": 2, "first": "“late”"}]


def test_entries_have_a_pace_and_a_level_of_their_own(studio: Studio) -> None:
    entries = [ScriptEntry("Hello there."), ScriptEntry("Hush now.", speed=0.75, gain_db=-9.0)]

    plan = planned(studio, encode_entries(entries), SHORT.asking(input=NarrationInput(type=SourceType.SEGMENTS)))

    assert [(one.speed, one.gain_db) for one in plan.segments] == [(1.0, 0.0), (0.75, -9.0)]


def test_lenient_ssml_is_read_as_far_as_it_can_be_and_says_what_was_lost(studio: Studio) -> None:
    ssml = (
        '<speak><prosody pitch="slow">It is <say-as interpret-as="ordinal">3</say-as>.</prosody> '
        '<voice name="tom">Hi.</voice><voice name="Joanna"> Ho.</voice></speak>'
    )
    given = NarrationInput(type=SourceType.SSML, ssml_mode=SsmlMode.LENIENT)
    asked = SHORT.asking(input=given, language="english", validate_only=True)
    job = submit(studio, ssml.encode(), replace(asked, cast=(SpeakerVoice("tom", "tom"),)))

    studio.drain()

    (artifact,) = studio.record(job).artifacts
    shown = json.loads(studio.artifacts.get(artifact.key))
    assert [(each["text"], each.get("speaker")) for each in shown["segments"]] == [
        ("It is third.", None), ("Hi.", "tom"), ("Ho.", None),
    ]  # fmt: skip
    assert [(each["kind"], each["count"], each["first"]) for each in shown["left_out"]] == [
        ("prosody pitch", 1, "line 1, column 8"), ("voice Joanna", 1, "line 1, column 118"),
    ]  # fmt: skip
    assert [each["code"] for each in shown["warnings"]] == ["ssml_left_out"]


def test_a_plan_shows_its_sentences_as_they_are_written_and_spoken(studio: Studio) -> None:
    wide = SHORT.asking(language="english", normalization=Normalization.BASIC, segmentation=SegmentLengths())
    job = submit(studio, b"He paid $5. It was _late_. He left.", wide.asking(validate_only=True))

    studio.drain()

    (artifact,) = studio.record(job).artifacts
    (segment,) = json.loads(studio.artifacts.get(artifact.key))["segments"]
    assert [(each.get("source"), each["text"]) for each in segment["sentences"]] == [
        ("He paid $5.", "He paid five dollars."), ("It was _late_.", "It was late."), (None, "He left."),
    ]  # fmt: skip


def test_markdown_becomes_chapters_and_code_is_not_read(studio: Studio) -> None:
    plan = planned(studio, MARKDOWN, document(DocumentFormat.MARKDOWN))

    assert (plan.title, plan.author) == ("Two Fables", "Aesop")
    assert [(chapter.id, chapter.title) for chapter in plan.chapters] == [("1", "The Fox"), ("2", "The Crow")]
    assert [(one.text, one.chapter, one.pause_after_s) for one in plan.segments] == [
        ("The Fox", 0, 0.9),
        ("A fox saw grapes. code is read.", 0, 2.0),
        ("The Crow", 1, 0.9),
        ("1. First point", 1, 0.8),
        ("2. Second point", 1, 0),
    ]


def test_only_the_chapters_asked_for_are_spoken(studio: Studio) -> None:
    plan = planned(studio, MARKDOWN, document(DocumentFormat.MARKDOWN, "2"))

    assert [chapter.title for chapter in plan.chapters] == ["The Crow"]
    assert failure(studio, MARKDOWN, document(DocumentFormat.MARKDOWN, "9")) == (
        "invalid_request: the document has no chapter '9'; it has chapters 1 to 2"
    )


def test_a_book_that_is_none_fails_with_the_reason(studio: Studio) -> None:
    assert failure(studio, b"not a zip", document(DocumentFormat.EPUB)).startswith(
        "unsupported_media: the EPUB is not a ZIP file"
    )
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
    assert failure(studio, archive.getvalue(), document(DocumentFormat.EPUB)) == (
        "unsupported_media: the EPUB has no file 'META-INF/container.xml'"
    )


def test_dictionaries_and_normalisation_change_what_is_spoken_and_no_offset(studio: Studio) -> None:
    rules = encode_rules([PronunciationRule("W3C", "the Web Consortium"), PronunciationRule("1984", "the novel")])
    job_spec = SHORT.asking(
        language="english",
        normalization=Normalization.BASIC,
        pronunciation_dictionaries=("pd_x@1",),
        segmentation=SegmentLengths(),
    )

    plan = planned(studio, b"W3C paid $5 for 3 copies of 1984.", job_spec, (rules,))

    (segment,) = plan.segments
    assert segment.text == "The Web Consortium paid five dollars for three copies of the novel."


@pytest.mark.parametrize(("emoji", "said"), [(Emoji.DROPPED, "Well done!"), (Emoji.NAMED, "Well done! Party popper")])
def test_emoji_are_passed_over_or_named(studio: Studio, emoji: Emoji, said: str) -> None:
    job_spec = SHORT.asking(language="english", normalization=Normalization.BASIC, emoji=emoji)

    plan = planned(studio, "Well done! 🎉".encode(), job_spec)

    assert [segment.text for segment in plan.segments] == [said]


def test_a_plan_alone_is_an_artifact_and_nothing_is_spoken(studio: Studio) -> None:
    job = submit(
        studio, MARKDOWN, SHORT.asking(input=document(DocumentFormat.MARKDOWN).request.input, validate_only=True)
    )

    record = studio.drained(job)

    (artifact,) = record.artifacts
    shown = json.loads(studio.artifacts.get(artifact.key))
    assert (record.state, record.segments.total) == (JobState.SUCCEEDED, 0)
    assert (artifact.name, shown["num_segments"], shown["chapters"][1]["title"]) == ("plan.json", 5, "The Crow")
    assert shown["estimated_audio_s"] > 5
    assert studio.jobs.audit_counters() == ()


def test_a_text_without_chapters_has_a_plan_too(studio: Studio) -> None:
    job = submit(studio, b"One.\n\nTwo.", SHORT.asking(validate_only=True))

    studio.drain()

    (artifact,) = studio.record(job).artifacts
    shown = json.loads(studio.artifacts.get(artifact.key))
    assert (shown["chapters"], [one["text"] for one in shown["segments"]]) == ([], ["One.", "Two."])


@pytest.mark.parametrize("validate_only", [False, True])
def test_a_result_that_is_refused_leaves_nothing_in_the_store(studio: Studio, validate_only: bool) -> None:
    job = submit(
        studio,
        MARKDOWN,
        SHORT.asking(input=document(DocumentFormat.MARKDOWN).request.input, validate_only=validate_only),
    )
    studio.jobs.cancel(TENANT, job.id)

    studio.drain()

    assert [entry.key for entry in studio.artifacts.list(keys.job_prefix(TENANT, job.id))] == [job.input_key]


def test_the_whole_way_to_sound_with_two_voices(studio: Studio) -> None:
    cast = (SpeakerVoice("B", "tom"),)
    job = submit(studio, b"A says hello.\n\nB: And so do I.", replace(SHORT, cast=cast))

    studio.drain()

    assert studio.record(job).state is JobState.SUCCEEDED
    assert SPEC.cast == ()
