"""Joins, pauses, texts beside the audio, and what becomes of a job that is assembled again."""

from __future__ import annotations

import io
import itertools
import json
import math
import wave
from dataclasses import replace

import numpy as np
import pysubs2
import pytest
import redis
import soundfile
from numpy.typing import NDArray
from safetensors.numpy import load

from reading.plan.plan import Chapter
from reading.script.script import Mark
from rhapsode.contract.jobs.input import Normalization
from rhapsode.contract.jobs.output import (
    AudioFormat,
    Loudness,
    LoudnessScope,
    Output,
    OutputFormat,
    SubtitleFormat,
    Timestamps,
)
from rhapsode.contract.jobs.states import JobState
from storage.audio.tempo import stretched
from storage.job_store.control import JobControl
from storage.jobs.record import JobRecord
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.cast import SpeakerVoice
from storage.objects import keys
from storage.segments.edits import SegmentEdit
from storage.segments.file import SegmentHeader
from storage.segments.timeline import MARGIN_S
from tests.storage.job_store.event_log import EventLog
from tests.worker.assembly.studio import RATE_HZ, Book, artifact, assemble, content, lufs, submit_book, voice_like
from tests.worker.studio import SPEC, TENANT, Studio
from worker.assembly.item import uncalibrated
from worker.settings import SMALL_VOICE
from worker.speech.audio.samples import to_bytes, to_samples
from worker.speech.audio.speech_edges import RELATIVE_THRESHOLD, finish_edges
from worker.speech.audio.true_peak import TruePeakMeter

PAUSES_S = (0.06, 0.25, 0.6, 1.5, 10.0, 0.0)
WAV = Output()


def talk(level: float = 0.3, num: int = 6) -> list[NDArray[np.float32]]:
    """Segments that begin and end anywhere in a wave, with and without silence around them."""
    silence = np.zeros(RATE_HZ // 2, np.float32)
    speech = [voice_like(1.5 + 0.31 * number, level, number) for number in range(num)]
    return [np.concatenate([silence, each, silence]) if number % 2 else each for number, each in enumerate(speech)]


def samples_of(studio: Studio, record: JobRecord) -> NDArray[np.float64]:
    samples, _ = soundfile.read(io.BytesIO(content(studio, record, "narration.wav")))
    return np.asarray(samples, np.float64)


def test_no_join_clicks_and_every_pause_is_heard_as_it_was_typed(studio: Studio) -> None:
    pcm = talk()
    record = assemble(studio, Book(pcm, PAUSES_S), WAV)

    samples = samples_of(studio, record)
    natural = max(float(np.abs(np.diff(each)).max()) for each in pcm)
    rows = json.loads(content(studio, record, "manifest.json"))["segments"]
    for row in rows:
        for edge_s in (row["start_s"], row["start_s"] + row["duration_s"]):
            around = samples[max(0, round((edge_s - 0.05) * RATE_HZ)) : round((edge_s + 0.05) * RATE_HZ)]
            assert np.abs(np.diff(around)).max() <= natural
    assert np.abs(np.diff(samples)).max() <= natural
    assert heard_pauses_s(samples) == pytest.approx(PAUSES_S[:-1], abs=0.01)
    for row, following in itertools.pairwise(rows):
        assert following["start_s"] - row["start_s"] - row["duration_s"] == pytest.approx(
            row["pause_after_s"], abs=0.01
        )


def heard_pauses_s(samples: NDArray[np.float64]) -> list[float]:
    """Runs of at least 50 ms in which no window of a millisecond is louder than 40 dB below the loudest of 10 ms."""
    window = round(0.001 * RATE_HZ)
    rms = np.sqrt(np.square(samples[: len(samples) // window * window]).reshape(-1, window).mean(axis=1))
    loudest = np.sqrt(np.square(samples).reshape(-1)[: len(samples) // 240 * 240].reshape(-1, 240).mean(axis=1)).max()
    voiced = np.flatnonzero(rms > loudest * RELATIVE_THRESHOLD)
    gaps = (np.diff(voiced) - 1) * window / RATE_HZ
    return [float(gap) for gap in gaps if gap >= 0.05]


def test_without_a_wish_every_sample_is_as_it_was_spoken(studio: Studio) -> None:
    pcm = talk(num=2)
    first = content(studio, assemble(studio, Book(pcm, (0.25, 0.0)), WAV), "narration.wav")
    again = content(studio, assemble(studio, Book(pcm, (0.25, 0.0)), WAV), "narration.wav")

    assert first == again
    loudest = max(float(np.abs(each).max()) for each in pcm)
    samples, _ = soundfile.read(io.BytesIO(first))
    assert np.abs(samples).max() == pytest.approx(loudest, abs=1e-4)


def test_speakers_of_a_cast_are_evened_and_an_edit_leaves_its_neighbours(
    studio: Studio, redis_client: redis.Redis
) -> None:
    book = Book([*talk(0.4, 2), *talk(0.1, 2)], (0.5, 0.5, 0.5, 0.0), speakers=("", "", "BOB", "BOB"))
    spec = replace(SPEC, cast=(SpeakerVoice("BOB", "tom"),))
    record = submit_book(studio, book, WAV, spec)
    studio.run_one(CPU_QUEUE)

    record = studio.record(record)
    first, manifest = samples_of(studio, record), json.loads(content(studio, record, "manifest.json"))
    third = round(manifest["segments"][2]["start_s"] * RATE_HZ)
    assert abs(lufs(first[:third], RATE_HZ) - lufs(first[third:], RATE_HZ)) < 1
    assert [each["name"] for each in manifest["speakers"]] == ["", "BOB"]
    assert manifest["speakers"][0]["gain_db"] < -1 < 1 < manifest["speakers"][1]["gain_db"]

    JobControl(redis_client).edit(TENANT, record.id, {3: SegmentEdit(text="Something else is said.")})
    record = studio.drained(record)

    again, last = samples_of(studio, record), round(manifest["segments"][3]["start_s"] * RATE_HZ) - RATE_HZ // 10
    np.testing.assert_array_equal(again[:last], first[:last])
    assert json.loads(content(studio, record, "manifest.json"))["speakers"] == manifest["speakers"]


def test_a_voice_that_is_higher_in_one_chapter_is_told_and_warned_of(studio: Studio) -> None:
    chapters = (Chapter("One", 0), Chapter("Two", 8), Chapter("Three", 16))
    book = Book(talk(num=24), (0.25,) * 24, chapters, pitches_hz=(200.0,) * 16 + (260.0,) * 8)

    record = assemble(studio, book, WAV)

    assert [(each.code, each.detail) for each in record.warnings] == [
        ("voice_drift", "the narrator may sound like another voice in chapter 3 (+4.5 semitones, +0.0 dB a band)")
    ]
    (speaker,) = json.loads(content(studio, record, "manifest.json"))["speakers"]
    assert [(each["chapter"], each["segments"], each["semitones"]) for each in speaker["chapters"]] == [
        *((0, 8, 0.0), (1, 8, 0.0), (2, 8, 4.54)),
    ]


def test_segments_come_to_one_level_that_an_edit_of_their_neighbour_keeps(
    studio: Studio, redis_client: redis.Redis
) -> None:
    book = Book([*talk(0.4, 1), *talk(0.2, 1), *talk(0.3, 2)], (0.5, 0.5, 0.5, 0.0), gains_db=(0.0, 0.0, -6.0, 0.0))
    each = Loudness(target_lufs=-19.0, scope=LoudnessScope.SEGMENT)
    record = submit_book(studio, book, WAV.model_copy(update={"loudness": each}), SPEC)
    studio.run_one(CPU_QUEUE)

    record = studio.record(record)
    first, rows = samples_of(studio, record), json.loads(content(studio, record, "manifest.json"))["segments"]
    starts = [round(row["start_s"] * RATE_HZ) for row in rows]
    levels = [lufs(first[start : start + RATE_HZ // 2], RATE_HZ) for start in starts]
    assert levels == pytest.approx([-19, -19, -25, -19], abs=1)
    assert np.abs(first).max() <= 10 ** (-1 / 20)

    JobControl(redis_client).edit(TENANT, record.id, {3: SegmentEdit(text="Something else is said.")})
    studio.drain()

    again, last = samples_of(studio, studio.record(record)), starts[3] - RATE_HZ // 10
    np.testing.assert_array_equal(again[:last], first[:last])


def test_another_sample_rate_keeps_duration_and_loudness(studio: Studio) -> None:
    book = Book(talk(num=3), (0.25, 0.6, 0.0))
    original = assemble(studio, book, WAV)
    resampled = assemble(studio, book, WAV.model_copy(update={"sample_rate": 44_100}))

    samples, rate_hz = soundfile.read(io.BytesIO(content(studio, resampled, "narration.wav")))
    before = samples_of(studio, original)
    assert rate_hz == 44_100
    assert len(samples) == round(len(before) * 44_100 / RATE_HZ)
    assert lufs(np.asarray(samples, np.float64), 44_100) == pytest.approx(lufs(before, RATE_HZ), abs=0.1)


def test_each_chapter_gets_a_gain_of_its_own_if_that_is_asked_for(studio: Studio) -> None:
    pcm = [voice_like(3, 0.05, 1), voice_like(3, 0.05, 2), voice_like(3, 0.4, 3), voice_like(3, 0.4, 4)]
    book = Book(pcm, (0.5, 0.5, 0.5, 0.0), (Chapter("soft", 0), Chapter("loud", 2)))
    output = WAV.model_copy(
        update={"loudness": Loudness(target_lufs=-23.0, max_true_peak_db=-1.0, scope=LoudnessScope.CHAPTER)}
    )

    record = assemble(studio, book, output)

    samples = samples_of(studio, record)
    rows = json.loads(content(studio, record, "manifest.json"))["segments"]
    boundary = round(rows[2]["start_s"] * RATE_HZ)
    assert lufs(samples[:boundary], RATE_HZ) == pytest.approx(-23, abs=0.1)
    assert lufs(samples[boundary:], RATE_HZ) == pytest.approx(-23, abs=0.1)
    assert record.warnings == ()


@pytest.mark.parametrize("scope", [LoudnessScope.JOB, LoudnessScope.CHAPTER])
def test_a_peak_does_not_stand_in_the_way_of_the_loudness(studio: Studio, scope: LoudnessScope) -> None:
    """Peaks that only a limiter gets past: the target is reached, and every segment without one has plain gain."""
    pcm = [voice_like(4, 0.05, number) for number in range(4)]
    pcm[0][RATE_HZ] = 0.9
    pcm[2][2 * RATE_HZ : 2 * RATE_HZ + 600] *= 9
    book = Book(pcm, (0.5, 0.5, 0.5, 0.0), (Chapter("one", 0), Chapter("two", 2)))
    loudness = Loudness(target_lufs=-16.0, max_true_peak_db=-3.0, scope=scope)

    record = assemble(studio, book, WAV.model_copy(update={"loudness": loudness}))

    samples = samples_of(studio, record)
    manifest = json.loads(content(studio, record, "manifest.json"))
    boundary = round(manifest["segments"][2]["start_s"] * RATE_HZ)
    parts = [samples] if scope is LoudnessScope.JOB else [samples[:boundary], samples[boundary:]]
    for part, told in zip(parts, manifest["loudness"], strict=True):
        assert lufs(part, RATE_HZ) == pytest.approx(-16, abs=0.1)
        assert told["lufs"] == pytest.approx(-16, abs=0.1)
        assert told["limited_to_db"] == -3
    peak = TruePeakMeter()
    peak.add(samples)
    assert 20 * math.log10(peak.value()) == pytest.approx(-3, abs=0.02)
    assert record.warnings == ()
    evened_db = manifest["speakers"][0]["loudness_lufs"] - manifest["segments"][1]["loudness_lufs"]
    job_gain = 10 ** (manifest["loudness"][0]["gain_db"] / 20)
    plain = np.float32(job_gain * 10 ** (evened_db / 20))
    start = round(manifest["segments"][1]["start_s"] * RATE_HZ)
    spoken = to_samples(finish_edges(pcm[1], RATE_HZ))[round(MARGIN_S * RATE_HZ) :]
    made = samples[start : start + len(spoken)] * 32768
    np.testing.assert_allclose(made, spoken * plain, rtol=1e-3, atol=1 + job_gain / 2)


def test_a_target_that_would_crush_the_speech_is_missed_and_the_job_says_so(studio: Studio) -> None:
    pcm = [voice_like(4, 0.05, 1)]
    pcm[0][RATE_HZ : 2 * RATE_HZ : 480] = 0.9
    output = WAV.model_copy(update={"loudness": Loudness(target_lufs=-9.0, max_true_peak_db=-3.0)})

    record = assemble(studio, Book(pcm, (0.0,)), output)

    samples = samples_of(studio, record)
    reached = lufs(samples, RATE_HZ)
    assert np.abs(samples).max() <= 10 ** (-3 / 20) + 2**-15
    assert [(warning.code, warning.segment) for warning in record.warnings] == [("loudness_target_missed", None)]
    assert record.warnings[0].detail == (
        f"the narration has {reached:.1f} LUFS instead of -9: with more gain, a true peak of -3 dB would take more "
        "than 6 dB off for more than 1% of the time"
    )


def test_words_keep_their_places_at_another_speed_and_behind_a_head(studio: Studio) -> None:
    book = Book(talk(num=2), (0.6, 0.0), texts=["One two three.", "Four five."])
    words = WAV.model_copy(update={"timestamps": Timestamps.WORD})

    natural, other = (
        json.loads(content(studio, assemble(studio, book, output), "timestamps.json"))["segments"]
        for output in (words, words.model_copy(update={"speed": 1.25, "head_s": 0.5}))
    )

    for before, after in zip(natural, other, strict=True):
        spoken = [word for sentence in before["sentences"] for word in sentence["words"]]
        heard = [word for sentence in after["sentences"] for word in sentence["words"]]
        assert len(spoken) == len(heard) > 1
        for one, two in zip(spoken, heard, strict=True):
            assert two["start_s"] == pytest.approx(one["start_s"] / 1.25 + 0.5 - 0.03 / 1.25, abs=2e-3)
            assert two["end_s"] == pytest.approx(one["end_s"] / 1.25 + 0.5 - 0.03 / 1.25, abs=2e-3)


def test_at_another_speed_files_and_times_agree_to_the_sample(studio: Studio) -> None:
    """Assembled again at another speed: nothing is spoken anew, and an edit's neighbours would be the same samples."""
    pcm = talk(num=3)
    book = Book(pcm, (0.6, 1.5, 0.0), (Chapter("one", 0), Chapter("two", 2)))
    output = WAV.model_copy(
        update={"speed": 1.25, "timestamps": Timestamps.SEGMENT, "subtitles": (SubtitleFormat.SRT,)}
    )
    natural = json.loads(content(studio, assemble(studio, book, WAV), "manifest.json"))

    record = assemble(studio, book, output)

    samples = samples_of(studio, record)
    manifest = json.loads(content(studio, record, "manifest.json"))
    stamps = json.loads(content(studio, record, "timestamps.json"))
    cues = pysubs2.SSAFile.from_string(content(studio, record, "narration.srt").decode(), format_="srt")
    assert len(samples) == manifest["totals"]["samples"]
    assert artifact(record, "narration.wav").duration_s == manifest["totals"]["duration_s"] == stamps["duration_s"]
    assert manifest["totals"]["duration_s"] == pytest.approx(natural["totals"]["duration_s"] / 1.25, abs=1e-3)
    for row, before, stamp, cue in zip(
        manifest["segments"], natural["segments"], stamps["segments"], cues, strict=True
    ):
        assert row["start_s"] == stamp["start_s"] == pytest.approx(before["start_s"] / 1.25, abs=1e-3)
        assert row["duration_s"] == pytest.approx(before["duration_s"] / 1.25, abs=1e-3)
        assert cue.start / 1000 == pytest.approx(row["start_s"], abs=1e-3)
        assert row["sha256"] == before["sha256"] or row["seed"] == before["seed"]
    assert manifest["chapters"][1]["start_s"] == manifest["segments"][2]["start_s"]
    assert manifest["settings"]["output"]["speed"] == 1.25
    assert heard_pauses_s(samples) == pytest.approx([0.6 / 1.25, 1.5 / 1.25], abs=0.025)
    spoken = [to_samples(finish_edges(each, RATE_HZ)) for each in pcm]
    first = np.frombuffer(stretched(to_bytes(spoken[0]), RATE_HZ, 1.25), "<i2")
    np.testing.assert_array_equal(samples[: len(first)] * 32768, first)


def test_a_segment_may_be_slower_and_louder_than_the_whole(studio: Studio) -> None:
    """Files, times and marks follow; the pause between two is the whole's."""
    marks = (Mark("end of one", 1, is_end=True), Mark("two", 1), Mark("three", 2), Mark("over", 3, is_end=True))
    book = Book(talk(num=3), (0.6, 0.6, 0.0), speeds=(1.0, 0.5, 1.6), gains_db=(0.0, -12.0, 6.0), marks=marks)
    output = WAV.model_copy(update={"speed": 1.25, "timestamps": Timestamps.SEGMENT})
    plain = Book(talk(num=3), (0.6, 0.6, 0.0))
    natural = assemble(studio, plain, WAV)
    before = json.loads(content(studio, natural, "manifest.json"))["segments"]

    record = assemble(studio, book, output)

    samples = samples_of(studio, record)
    manifest = json.loads(content(studio, record, "manifest.json"))
    stamps = json.loads(content(studio, record, "timestamps.json"))
    rows, spans = manifest["segments"], [(each["start_s"], each["end_s"]) for each in stamps["segments"]]
    assert len(samples) == manifest["totals"]["samples"]
    assert [(row["speed"], row["gain_db"]) for row in rows] == [(1.0, 0.0), (0.5, -12.0), (1.6, 6.0)]
    for row, was, speed in zip(rows, before, (1.25, 0.625, 2.0), strict=True):
        assert row["duration_s"] == pytest.approx(was["duration_s"] / speed, abs=1e-3)
    assert [row["start_s"] for row in rows] == [pytest.approx(start_s) for start_s, _ in spans]
    was = samples_of(studio, natural)
    for gain_db, row, old in zip((0.0, -12.0, 6.0), rows, before, strict=True):
        heard_db = power_db(samples, row) - power_db(was, old)
        assert heard_db == pytest.approx(gain_db, abs=1.0)
    assert {each["name"]: each["time_s"] for each in stamps["marks"]} == {
        "end of one": pytest.approx(spans[0][1], abs=0.002),
        "two": pytest.approx(spans[1][0], abs=0.002),
        "three": pytest.approx(spans[2][0], abs=0.002),
        "over": pytest.approx(spans[2][1], abs=0.002),
    }


def power_db(samples: NDArray[np.float64], row: dict[str, float]) -> float:
    start, end = (round(each * RATE_HZ) for each in (row["start_s"], row["start_s"] + row["duration_s"]))
    return 10 * float(np.log10(np.mean(samples[start:end] ** 2)))


def test_subtitles_and_timestamps_say_what_is_heard_when(studio: Studio) -> None:
    texts = ["One & <two>.", "Line one\n\nline two", "三"]
    output = WAV.model_copy(
        update={"subtitles": (SubtitleFormat.SRT, SubtitleFormat.VTT), "timestamps": Timestamps.SEGMENT}
    )

    record = assemble(studio, Book(talk(num=3), (0.8, 0.9, 0.0), texts=texts), output)

    rows = json.loads(content(studio, record, "manifest.json"))["segments"]
    spans = [(row["start_s"], row["start_s"] + row["duration_s"]) for row in rows]
    for form in ("srt", "vtt"):
        cues = pysubs2.SSAFile.from_string(content(studio, record, f"narration.{form}").decode(), format_=form)
        assert [cue.start / 1000 for cue in cues] == [pytest.approx(start_s, abs=0.03) for start_s, _ in spans]
        assert all(cue.end / 1000 >= end_s - 0.03 for cue, (_, end_s) in zip(cues, spans, strict=True))
        assert [cue.plaintext for cue in cues][1:] == ["Line one line two", "三"]
    assert b"One &amp; &lt;two&gt;." in content(studio, record, "narration.vtt")
    stamps = json.loads(content(studio, record, "timestamps.json"))["segments"]
    assert [(stamp["start_s"], stamp["end_s"]) for stamp in stamps] == [pytest.approx(span) for span in spans]
    assert [stamp["text"] for stamp in stamps] == texts


def test_words_are_found_in_what_was_spoken_whatever_becomes_of_its_sound(studio: Studio) -> None:
    """The second segment says something else than its text, so its times are an estimate."""
    with wave.open(str(SMALL_VOICE / "samples/moon-slt.wav")) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    spoken = (samples / 32_768).astype(np.float32)
    texts = ["The moon came up behind the dark pine trees.", "He never was there. Nor was she."]
    changes = {"timestamps": Timestamps.WORD, "sample_rate": 16_000, "loudness": Loudness(target_lufs=-23.0)}

    record = assemble(
        studio, Book([spoken, voice_like(3, 0.05, 1)], (0.4, 0.0), texts=texts), WAV.model_copy(update=changes)
    )

    first, second = json.loads(content(studio, record, "timestamps.json"))["segments"]
    words = first["sentences"][0]["words"]
    starts_s = [word["start_s"] for word in words]
    assert first["method"] == "aligned"
    assert [word["text"] for word in words] == texts[0].rstrip(".").split()
    # As PocketSphinx 5.1.1 hears them, from the first word on.
    known_s = [0, 0.09, 0.38, 0.7, 0.84, 1.29, 1.36, 1.67, 2.27]
    assert np.median(np.abs(np.array(starts_s) - starts_s[0] - known_s)) < 0.04
    assert second["method"] == "estimated"
    times = [bound for row in second["sentences"][0]["words"] for bound in (row["start_s"], row["end_s"])]
    assert first["end_s"] < times[0]
    assert times == sorted(times)


def test_the_manifest_tells_of_every_segment_and_how_to_make_it_again(studio: Studio) -> None:
    record = assemble(studio, Book(talk(num=2), (0.25, 0.0), title="A title"), WAV)

    manifest = json.loads(content(studio, record, "manifest.json"))
    assert [row["seed"] for row in manifest["segments"]] == [1000, 1001]
    assert [row["text"] for row in manifest["segments"]] == ["Segment 0.", "Segment 1."]
    assert manifest["title"] == "A title"
    assert manifest["request"]["quality"] == {"gate": "off"}
    assert manifest["totals"]["attempts"] == 2
    assert {each["name"] for each in manifest["artifacts"]} == {"narration.wav", "codes.safetensors"}
    codes = load(content(studio, record, "codes.safetensors"))
    assert codes["segment_offsets"].tolist() == [0, 3, 7]
    assert codes["codes"].tolist() == [[0] * 16] * 3 + [[1] * 16] * 4


def test_what_an_earlier_run_left_is_gone_after_the_finish(studio: Studio) -> None:
    job = submit_book(studio, Book(talk(num=2), (0.25, 0.0)), WAV)
    died = studio.jobs.claim(CPU_QUEUE, replace(studio.services.worker.identity, name="other"), 60).item
    assert died is not None
    left = keys.artifact(died.lease, "narration.wav")
    studio.artifacts.put(left, b"half a file")
    studio.jobs.release_worker(replace(studio.services.worker.identity, name="other", boot_id="2"))

    studio.run_one(CPU_QUEUE)

    record = studio.record(job)
    assert record.state is JobState.SUCCEEDED
    stored = {entry.key for entry in studio.artifacts.list(keys.all_artifacts_prefix(TENANT, job.id))}
    assert left not in stored
    assert stored == {artifact.key for artifact in record.artifacts}


def test_a_job_assembled_again_has_its_new_files_and_keeps_the_old_ones_as_they_were(
    studio: Studio, redis_client: redis.Redis
) -> None:
    book = Book(talk(num=2), (0.25, 0.0))
    spike = Output(loudness=Loudness(target_lufs=-10.0, max_true_peak_db=-20.0), subtitles=(SubtitleFormat.SRT,))
    first = assemble(studio, book, spike)
    before = {each.name: content(studio, first, each.name) for each in first.artifacts}
    control = JobControl(redis_client)
    flac = Output(formats=(OutputFormat(type=AudioFormat.FLAC),))

    control.assemble(TENANT, first.id, lambda spec: spec.asking(output=flac), None)
    record = studio.drained(first)

    assert record.state is JobState.SUCCEEDED
    assert [artifact.name for artifact in record.artifacts] == [
        *("narration.flac", "codes.safetensors", "manifest.json"),
        *("narration.wav", "narration.srt"),
    ]
    assert all(content(studio, record, name) == before[name] for name in ("narration.wav", "narration.srt"))
    assert [warning.code for warning in first.warnings] == ["loudness_target_missed"]
    assert record.warnings == ()
    assert_nothing_else_is_stored(studio, record)
    events = EventLog(redis_client).read(record.id)
    told = [event.data["name"] for event in events if event.type == "job.artifact.created"]
    assert len(told) == len(first.artifacts) + 3


def test_files_of_what_is_not_said_any_more_go(studio: Studio, redis_client: redis.Redis) -> None:
    job = studio.submit("The first sentence here. The second sentence here.")
    studio.drain()
    control = JobControl(redis_client)
    flac = Output(formats=(OutputFormat(type=AudioFormat.FLAC),))
    control.assemble(TENANT, job.id, lambda spec: spec.asking(output=flac), None)
    studio.drain()
    beside = {artifact.name for artifact in studio.record(job).artifacts}

    control.edit(TENANT, job.id, {1: SegmentEdit(text="Something else.")})
    record = studio.drained(job)

    assert {"narration.wav", "narration.flac"} <= beside
    assert {artifact.name for artifact in record.artifacts} == beside - {"narration.wav"}
    assert_nothing_else_is_stored(studio, record)


def assert_nothing_else_is_stored(studio: Studio, record: JobRecord) -> None:
    stored = {entry.key for entry in studio.artifacts.list(keys.all_artifacts_prefix(TENANT, record.id))}
    assert stored == {artifact.key for artifact in record.artifacts}


def test_what_was_edited_is_what_the_texts_say(studio: Studio, redis_client: redis.Redis) -> None:
    output = WAV.model_copy(update={"subtitles": (SubtitleFormat.SRT,), "timestamps": Timestamps.SEGMENT})
    spec = SPEC.asking(output=output, language="english", normalization=Normalization.BASIC)
    record = studio.submit("The FBI paid me $5 once. The second sentence here.", spec)
    studio.drain()

    JobControl(redis_client).edit(TENANT, record.id, {1: SegmentEdit(text="It cost $6. Then 7.")})
    record = studio.drained(record)

    rows = json.loads(content(studio, record, "manifest.json"))["segments"]
    spoken = ["The eff bee eye paid me five dollars once.", "It cost six dollars. Then seven."]
    assert [row["text"] for row in rows] == spoken
    written = ["The FBI paid me $5 once.", "It cost $6. Then 7."]
    cues = content(studio, record, "narration.srt").decode()
    assert [text for text in written if text in cues] == written
    assert [row["text"] for row in json.loads(content(studio, record, "timestamps.json"))["segments"]] == written


def test_a_cover_that_no_file_can_carry_is_left_out_with_a_warning(studio: Studio) -> None:
    output = Output(formats=(OutputFormat(type=AudioFormat.FLAC),))

    record = assemble(studio, Book(talk(num=1), (0.0,), cover=b"GIF89a..."), output)

    assert [warning.code for warning in record.warnings] == ["cover_unusable"]
    assert soundfile.info(io.BytesIO(content(studio, record, "narration.flac"))).frames > 0


def test_a_voice_that_was_not_measured_is_warned_of() -> None:
    def header(**checks: float) -> SegmentHeader:
        return SegmentHeader("job", 0, 1, "", 1, "eos", "model", "", RATE_HZ, checks=checks)

    unjudged, measured, unknown = header(), header(speech_s=1.0, duration_ratio=1.0), header(speech_s=1.0)

    assert uncalibrated([unjudged, measured]) == []
    (warning,) = uncalibrated([measured, unknown, unknown])
    assert (warning.code, warning.segment) == ("quality_uncalibrated", None)
    assert warning.detail.startswith("2 of 3 segments")
