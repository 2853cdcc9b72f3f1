"""Segments and takes: listed, heard, edited, spoken again, chosen."""

from __future__ import annotations

import hashlib
import io
import threading
import wave
from dataclasses import replace
from typing import Any

import httpx
import pytest

from reading.plan.plan import Chapter, Plan, PlanSegment, encode_plan
from storage.ids import TenantId
from storage.jobs.record import ArtifactRecord, JobError
from storage.jobs.work_items import ClaimedItem, PlanResult
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects.keys import artifact, plan, rejected_take, segment
from storage.segments.file import SegmentHeader, StoredSegment, encode_segment
from storage.segments.results import SegmentReport
from storage.segments.tried import RejectedTake, Rejection, StoredAttempt
from tests.api.harness import GPU_QUEUE, SMALL, ServedApi, claim, job_id
from tests.api.voices.voices import BASE, DIMENSION, upload
from tests.storage.job_store.event_log import EventLog
from tests.threads import join_in_time

TEXTS = ("Good morning.", "How are you?", "Fine.")
RATE_HZ = 24_000


def planned(api: ServedApi, **fields: object) -> dict[str, Any]:
    """A job of three segments that wait."""
    job = api.submit(" ".join(TEXTS), **fields)
    item = claim(api, CPU_QUEUE)
    segments = tuple(
        PlanSegment(i, 0, len(text), text, 0.5, source_id=f"s{i}", written_otherwise=f"_{text}_")
        for i, text in enumerate(TEXTS)
    )
    api.objects.put(plan(item.lease), encode_plan(Plan(segments, (Chapter("One", 0),))))
    api.jobs.commit_plan(item.lease, PlanResult(plan(item.lease), len(TEXTS), 3_000))
    return job


def speak(api: ServedApi, num_samples: int = RATE_HZ, flags: tuple[str, ...] = ()) -> ClaimedItem:
    """Whatever is next, as so many samples of the number of its take."""
    item = claim(api, GPU_QUEUE)
    header = SegmentHeader(item.lease.job, int(item.lease.item), item.lease.fence, "", 7, "eos", "small", "r1", RATE_HZ)
    header = replace(header, checks={"duration_ratio": 1.0})
    pcm = item.take.to_bytes(2, "little") * num_samples
    data = encode_segment(StoredSegment(header, pcm, b"\0\0" * 16, 16))
    api.objects.put(segment(item.lease.tenant, item.lease.job, int(item.lease.item), item.lease.fence), data)
    report = SegmentReport(num_samples, RATE_HZ, 13, hashlib.sha256(data).hexdigest(), "eos", 50)
    api.jobs.commit_segment(item.lease, replace(report, take=item.take, seed=7 + item.take, flags=flags, warning="odd"))
    return item


def finished(api: ServedApi, **fields: object) -> dict[str, Any]:
    job = planned(api, **fields)
    for _ in TEXTS:
        speak(api)
    assemble(api)
    return job


def assemble(api: ServedApi) -> None:
    item = claim(api, CPU_QUEUE)
    stored = api.objects.put(artifact(item.lease, "narration.wav"), b"RIFF")
    api.jobs.finish(item.lease, [ArtifactRecord("narration.wav", "wav", stored.key, 4, stored.sha256, 3.0)])


def listed(api: ServedApi, job: dict[str, Any], **parameters: str | int | list[str]) -> list[dict[str, Any]]:
    answer = api.http.get(job["links"]["segments"], params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def at(job: dict[str, Any], index: int, below: str = "") -> str:
    return f"{job['links']['segments']}/seg_{index:06d}{below}"


def test_a_job_without_a_plan_has_no_segments_yet(api: ServedApi) -> None:
    job = api.submit()

    assert listed(api, job) == []
    assert api.http.get(at(job, 0)).status_code == 404


def test_every_segment_tells_where_it_stands(api: ServedApi) -> None:
    job = planned(api, voice="Bob", language="German")
    speak(api)
    claim(api, GPU_QUEUE)

    first, second, third = listed(api, job)

    assert [(each["id"], each["state"]) for each in (first, second, third)] == [
        ("seg_000000", "done"),
        ("seg_000001", "running"),
        ("seg_000002", "pending"),
    ]
    assert (first["text"], first["written"]) == (TEXTS[0], f"_{TEXTS[0]}_")
    assert (first["text"], first["voice"], first["language"], first["source_id"]) == (TEXTS[0], "Bob", "German", "s0")
    assert (first["start_s"], first["duration_s"], first["pause_after_s"]) == (0.03, 1.0, 0.5)
    assert (first["take"], first["takes"], first["attempts"], first["seed_used"]) == (1, 1, 1, 8)
    assert (second["start_s"], second["duration_s"], second["links"]["audio"]) == (None, None, None)
    assert first["checks"] is None
    assert api.http.get(at(job, 0)).json() == {**first, "checks": {"duration_ratio": 1.0}, "tried": []}
    assert api.http.get(f"{job['links']['segments']}/1").json() == {**second, "tried": []}


def test_every_answer_with_one_segment_has_what_was_measured_of_it(api: ServedApi) -> None:
    job = finished(api)
    sentence = api.http.get(at(job, 0)).json()["sentences"][0]["id"]

    def change() -> list[httpx.Response]:
        return [
            api.http.patch(at(job, 0), json={"text": "Another one."}),
            api.http.patch(f"{job['links']['self']}/sentences/{sentence}", json={"text": "Another one."}),
        ]

    opened = change()
    speak(api)
    assemble(api)
    answers = [*change(), api.http.post(at(job, 0, "/takes/1/select"))]

    assert [each.json()["checks"] for each in opened] == [None, None]
    assert [each.status_code for each in answers] == [200, 200, 200]
    assert [each.json()["checks"] for each in answers] == [{"duration_ratio": 1.0}] * 3


def test_the_list_is_filtered_and_paged(api: ServedApi) -> None:
    job = planned(api)
    speak(api)
    speak(api, flags=("silence",))

    assert [each["index"] for each in listed(api, job, state="done")] == [0, 1]
    assert [each["index"] for each in listed(api, job, state=["pending", "running"])] == [2]
    assert [each["index"] for each in listed(api, job, flagged="true")] == [1]
    assert api.http.get(job["links"]["self"]).json()["quality"]["flagged_segments"] == ["seg_000001"]
    page = api.http.get(job["links"]["segments"], params={"limit": 2}).json()
    rest = api.http.get(job["links"]["segments"], params={"limit": 2, "cursor": page["next_cursor"]}).json()
    assert [each["index"] for each in [*page["data"], *rest["data"]]] == [0, 1, 2]
    assert (page["has_more"], rest["has_more"], rest["next_cursor"]) == (True, False, None)
    assert listed(api, job)[1]["findings"] == ["silence"]


def test_a_segment_that_failed_names_what_was_tried_and_lets_it_be_heard(api: ServedApi) -> None:
    job = planned(api)
    item = claim(api, GPU_QUEUE)
    lease, index = item.lease, int(item.lease.item)
    header = SegmentHeader(lease.job, index, lease.fence, "", 7, "eos", "small", "r1", RATE_HZ)
    data = encode_segment(StoredSegment(header, b"\1\0" * 2_400, b"\0\0" * 16, 16))
    api.objects.put(rejected_take(lease.tenant, lease.job, index, lease.fence, 1), data)
    heard = StoredAttempt(1, 7, 0.0, 1, ("silent",), ("it is silent",), {"speech_s": 0.0})
    unheard = StoredAttempt(2, 8, 0.6, 2, ("not_finite",), ("its samples are no numbers",))
    takes = (RejectedTake(heard, 2_400, hashlib.sha256(data).hexdigest()), RejectedTake(unheard))
    rejection = Rejection(lease.fence, takes, least_bad=1)
    api.jobs.fail(lease, JobError("segment_quality", "it is silent", index, 2, rejection))

    shown = api.http.get(at(job, index)).json()
    record = api.http.get(job["links"]["self"]).json()
    wav = api.http.get(shown["tried"][0]["audio"])
    missing = api.http.get(at(job, index, "/audio"), params={"attempt": 2})

    assert (record["state"], record["error"]["errors"][0]["segment"]) == ("failed", shown["id"])
    assert (shown["state"], shown["attempts"], shown["seed_used"]) == ("failed", 2, 7)
    assert (shown["findings"], shown["checks"]) == (["silent"], {"speech_s": 0.0})
    assert shown["tried"][1] == {
        "attempt": 2,
        "seed": 8,
        "temperature": 0.6,
        "parts": 2,
        "findings": ["not_finite"],
        "reasons": ["its samples are no numbers"],
        "checks": {},
        "audio": None,
    }
    with wave.open(io.BytesIO(wav.content)) as sound:
        assert sound.getnframes() == 2_400
    assert missing.status_code == 404


def test_a_rejected_attempt_is_kept_and_the_job_goes_on(api: ServedApi) -> None:
    job = planned(api)
    speak(api)
    item = claim(api, GPU_QUEUE)
    lease, index = item.lease, int(item.lease.item)
    header = SegmentHeader(lease.job, index, lease.fence, "", 7, "eos", "small", "r1", RATE_HZ, flags=("noise",))
    data = encode_segment(StoredSegment(header, b"\1\0" * 2_400, b"\0\0" * 16, 16))
    api.objects.put(rejected_take(lease.tenant, lease.job, index, lease.fence, 3), data)
    heard = RejectedTake(StoredAttempt(3, 7, 0.0, 1, ("noise",)), 2_400, hashlib.sha256(data).hexdigest())
    silent = RejectedTake(StoredAttempt(4, 8, 0.6, 2, ("not_finite",)))
    rejection = Rejection(lease.fence, (heard, silent), least_bad=3)
    api.jobs.fail(lease, JobError("segment_quality", "a noise", index, 2, rejection))

    missing = [api.http.post(at(job, index, f"/attempts/{number}/select")).status_code for number in (4, 5)]
    kept = api.http.post(at(job, index, "/attempts/3/select")).json()
    again = api.http.post(at(job, index, "/attempts/3/select")).json()
    record = api.http.get(job["links"]["self"]).json()
    wav = api.http.get(kept["links"]["audio"])

    assert missing == [404, 404]
    assert kept == again
    assert (kept["state"], kept["take"], kept["attempts"], kept["findings"]) == ("done", 1, 2, ["noise"])
    assert [each["code"] for each in record["warnings"]] == ["segment_quality"]
    assert record["progress"]["segments"] | {"total": 3, "done": 2, "failed": 0} == record["progress"]["segments"]
    with wave.open(io.BytesIO(wav.content)) as sound:
        assert sound.getnframes() == 2_400
    api.http.post(f"{job['links']['self']}/retry").raise_for_status()
    speak(api)
    assemble(api)
    assert api.http.get(job["links"]["self"]).json()["state"] == "succeeded"
    assert api.jobs.audit_counters() == ()


def test_words_are_said_otherwise_where_segments_have_them(api: ServedApi) -> None:
    job = finished(api)
    named = [each["id"] for each in listed(api, job)]
    say = {"segments": named, "pronunciations": [{"grapheme": "You", "alias": "yoo", "case_sensitive": False}]}

    first = api.http.patch(job["links"]["segments"], json=say).json()["data"]
    again = api.http.patch(job["links"]["segments"], json=say).json()["data"]
    none = api.http.patch(job["links"]["segments"], json=say | {"segments": named[:1]})

    assert [each["state"] for each in first] == ["done", "pending", "done"]
    assert [each["pronunciations"] for each in first] == [[], say["pronunciations"], []]
    assert (first[1]["written"], first[1]["sentences"][0]["spoken"]) == ("_How are you?_", "_How are yoo?_")
    assert [each["takes"] for each in again] == [1, 2, 1]
    assert (none.status_code, none.json()["errors"][0]["pointer"]) == (422, "/pronunciations")


def test_a_segment_is_heard_as_wav(api: ServedApi) -> None:
    job = planned(api)
    speak(api, num_samples=4_800)

    answer = api.http.get(at(job, 0, "/audio"))
    missing = api.http.get(at(job, 1, "/audio"))

    with wave.open(io.BytesIO(answer.content)) as heard:
        assert (heard.getframerate(), heard.getnframes(), heard.getnchannels()) == (RATE_HZ, 4_800, 1)
    assert (answer.headers["content-type"], missing.status_code) == ("audio/wav", 404)


def test_an_edit_is_spoken_at_once_and_a_repeat_changes_nothing(api: ServedApi) -> None:
    job = finished(api)

    change = {"text": "Quite well.", "language": "german", "instructions": "whispering", "seed": 3}
    edited = api.http.patch(at(job, 1), json=change)
    again = api.http.patch(at(job, 1), json=change)
    record = api.http.get(job["links"]["self"]).json()

    shown = edited.json()
    assert (edited.status_code, again.json()) == (200, shown)
    assert (shown["state"], shown["text"], shown["language"], shown["edited"]) == (
        "pending",
        "Quite well.",
        "German",
        True,
    )
    assert (shown["take"], shown["takes"], shown["instructions"]) == (2, 2, "whispering")
    assert (record["state"], record["phase"], record["progress"]["segments"]["done"]) == ("pending", "synthesizing", 2)
    item = speak(api)
    assert (item.lease.item, item.take, item.edit.text, item.edit.seed) == ("1", 2, "Quite well.", 3)
    assemble(api)
    assert api.http.get(job["links"]["self"]).json()["state"] == "succeeded"
    assert api.jobs.audit_counters() == ()


def test_a_sentence_is_edited_without_retyping_its_neighbours(api: ServedApi) -> None:
    job = api.submit("Good morning. How are you? Fine.")
    item = claim(api, CPU_QUEUE)
    whole = PlanSegment(0, 0, 32, "Good morning. How are you? Fine.", 0.0, breaks=(14, 27))
    api.objects.put(plan(item.lease), encode_plan(Plan((whole,))))
    api.jobs.commit_plan(item.lease, PlanResult(plan(item.lease), 1, 3_000))
    speak(api)
    assemble(api)
    sentences = listed(api, job)[0]["sentences"]
    second = f"{job['links']['self']}/sentences/{sentences[1]['id']}"

    shown = api.http.patch(second, json={"text": "Where were you at 9?"}).json()
    again = api.http.patch(second, json={"text": "Where were you at 9?"}).json()

    assert [each["id"] for each in sentences] == ["seg_000000.1", "seg_000000.2", "seg_000000.3"]
    assert shown == again
    assert (shown["written"], shown["state"], shown["take"], shown["edited"]) == (
        "Good morning. Where were you at 9? Fine.",
        "pending",
        2,
        True,
    )
    assert [each["text"] for each in shown["sentences"]] == ["Good morning.", "Where were you at 9?", "Fine."]
    assert speak(api).edit.sentences == ((1, "Where were you at 9?"),)


def test_all_but_the_last_segment_can_be_left_out(api: ServedApi) -> None:
    job = finished(api)

    gone = api.http.patch(f"{job['links']['self']}/sentences/seg_000001.1", json={"text": " "}).json()
    api.http.patch(at(job, 2), json={"text": ""})
    refused = api.http.patch(at(job, 0), json={"text": ""})

    assert (gone["text"], gone["written"], gone["state"], gone["take"]) == ("", "", "pending", 2)
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "empty_text")
    edits = [speak(api).edit for _ in range(2)]
    assert {(edit.text, edit.sentences) for edit in edits} == {("", None), (None, ((0, ""),))}


def test_what_is_changed_is_read_as_the_text_was(api: ServedApi) -> None:
    rules = {"name": "signs", "rules": [{"grapheme": "km", "alias": "kay em"}]}
    dictionary = api.http.post("/v1/pronunciation-dictionaries", json=rules).json()["id"]
    reading = {"language": "English", "normalization": "basic", "pronunciation_dictionaries": [dictionary]}
    job = planned(api, **reading)

    one = api.http.patch(at(job, 1), json={"text": "It cost 312 crowns."}).json()
    other = api.http.patch(f"{job['links']['self']}/sentences/seg_000002.1", json={"text": "After 6 km."}).json()

    assert (one["written"], one["text"]) == ("It cost 312 crowns.", "It cost three hundred twelve crowns.")
    assert (other["written"], other["text"]) == ("After 6 km.", "After six kay em.")
    assert other["sentences"][0]["spoken"] == other["text"]


@pytest.mark.parametrize(
    ("sentence", "change", "status"),
    [
        ("seg_000000.2", {"text": "x."}, 404),
        ("seg_000009.1", {"text": "x."}, 404),
        ("seg_000000", {"text": "x."}, 404),
        ("seg_000000.0", {"text": "x."}, 404),
        ("0.1", {"text": "..."}, 422),
        ("0.1", {}, 422),
        ("0.1", {"text": "word " * 60}, 422),
        ("0.1", {"text": "x.", "voice": "bob"}, 422),
    ],
)
def test_a_change_of_a_sentence_that_cannot_be_is_refused(
    api: ServedApi, sentence: str, change: dict[str, Any], status: int
) -> None:
    api.models.publish(replace(SMALL, max_text_tokens=1_100, max_text_chars=280))
    job = finished(api)

    answer = api.http.patch(f"{job['links']['self']}/sentences/{sentence}", json=change)

    assert answer.status_code == status, answer.text
    assert api.http.get(job["links"]["self"]).json()["state"] == "succeeded"


def test_another_voice_joins_the_cast_and_leaves_the_others_alone(api: ServedApi) -> None:
    job = finished(api)

    shown = api.http.patch(at(job, 2), json={"voice": "bob"}).json()

    assert (shown["voice"], shown["speaker"]) == ("Bob", "Bob")
    item = claim(api, GPU_QUEUE)
    assert [(member.name, member.voice) for member in item.narration.cast] == [("Bob", "Bob")]
    assert (item.edit.speaker, item.narration.request.voice) == ("Bob", "Alice")


def test_a_voice_of_the_callers_own_joins_the_cast(api: ServedApi) -> None:
    api.models.publish(replace(SMALL, voice_modes=BASE.voice_modes, speaker_dim=DIMENSION))
    ada, job = upload(api), finished(api)

    shown = api.http.patch(at(job, 2), json={"voice": "ada"}).json()

    assert (shown["voice"], shown["speaker"]) == ("Ada", "Ada")
    (member,) = claim(api, GPU_QUEUE).narration.cast
    assert member.own_voice is not None
    assert (member.own_voice.voice, member.own_voice.ref_text) == (ada["id"], "Hello there.")


def test_all_that_a_speaker_says_gets_another_voice_and_back_in_two_requests(api: ServedApi) -> None:
    job = finished(api, speakers={"Anna": "Alice", "Tom": "Alice"})
    for index, name in enumerate(("Anna", "Tom", "Anna")):
        api.http.patch(at(job, index), json={"speaker": name}).raise_for_status()
    for _ in TEXTS:
        speak(api)
    segments = ["seg_000000", "2"]

    changed = api.http.patch(job["links"]["segments"], json={"segments": segments, "voice": "bob"}).json()
    repeated = api.http.patch(job["links"]["segments"], json={"segments": segments, "voice": "bob"}).json()
    spoken = [claim(api, GPU_QUEUE).edit.speaker for _ in segments]

    assert [(each["index"], each["voice"], each["take"]) for each in changed["data"]] == [(0, "Bob", 3), (2, "Bob", 3)]
    assert repeated == changed
    assert spoken == ["Anna (Bob)"] * 2
    assert [each["speaker"] for each in listed(api, job)] == ["Anna (Bob)", "Tom", "Anna (Bob)"]


def test_earlier_takes_of_many_segments_are_selected_in_one_request(api: ServedApi) -> None:
    job = finished(api)
    change = {"segments": ["seg_000000", "seg_000002"], "voice": "bob"}
    api.http.patch(job["links"]["segments"], json=change).raise_for_status()

    back = api.http.patch(job["links"]["segments"], json={"segments": change["segments"], "takes": [1, 1]})

    assert [(each["voice"], each["take"], each["state"]) for each in back.json()["data"]] == [("Alice", 1, "done")] * 2
    assert claim(api, CPU_QUEUE).lease.item == "assemble"


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"segments": ["seg_000000"]}, 422),
        ({"segments": [], "voice": "bob"}, 422),
        ({"segments": ["seg_x"], "voice": "bob"}, 422),
        ({"segments": ["seg_000000"] * 1_001, "voice": "bob"}, 422),
        ({"segments": ["seg_000000"], "voice": "bob", "takes": [1]}, 422),
        ({"segments": ["seg_000000", "seg_000001"], "takes": [1]}, 422),
        ({"segments": ["seg_000000", "seg_000001"], "takes": [1, 2]}, 404),
        ({"segments": ["seg_000000", "seg_000003"], "voice": "bob"}, 404),
        ({"segments": ["seg_000000", "seg_000003"], "takes": [1, 1]}, 404),
        ({"segments": ["seg_000000", "seg_000001"], "voice": "Carol"}, 404),
    ],
)
def test_a_change_of_many_segments_that_is_refused_changes_none(
    api: ServedApi, change: dict[str, Any], status: int
) -> None:
    job = finished(api)

    answer = api.http.patch(job["links"]["segments"], json=change)

    assert answer.status_code == status, answer.text
    assert api.http.get(job["links"]["self"]).json()["state"] == "succeeded"


def test_takes_are_compared_and_chosen(api: ServedApi) -> None:
    job = finished(api)
    ordered = api.http.post(at(job, 0, "/regenerate"), headers={"Idempotency-Key": "once"})
    again = api.http.post(at(job, 0, "/regenerate"), headers={"Idempotency-Key": "once"})
    speak(api)
    assemble(api)

    takes = api.http.get(at(job, 0, "/takes")).json()["data"]
    heard = [api.http.get(take["audio"]).content[44:46] for take in takes]
    chosen = api.http.post(at(job, 0, "/takes/1/select"))
    unknown = api.http.post(at(job, 0, "/takes/9/select"))

    assert (ordered.status_code, again.status_code, again.json()["takes"]) == (202, 202, 2)
    assert [(take["take"], take["selected"], take["seed_used"]) for take in takes] == [(1, False, 8), (2, True, 9)]
    assert heard == [b"\x01\x00", b"\x02\x00"]
    assert (chosen.status_code, chosen.json()["take"], chosen.json()["state"]) == (200, 1, "done")
    assert unknown.status_code == 404
    assert claim(api, CPU_QUEUE).lease.item == "assemble"


def test_what_is_being_spoken_cannot_be_changed(api: ServedApi) -> None:
    job = planned(api)
    claim(api, GPU_QUEUE)

    edited = api.http.patch(at(job, 0), json={"text": "Too late."})
    again = api.http.post(at(job, 0, "/regenerate"))

    assert [(each.status_code, each.json()["code"]) for each in (edited, again)] == [(409, "state_conflict")] * 2


def test_an_edit_of_a_failed_job_waits_for_its_retry(api: ServedApi) -> None:
    job = planned(api)
    item = claim(api, GPU_QUEUE)
    api.jobs.fail(item.lease, JobError("segment_quality", "it does not stop", 0))

    failed = api.http.get(job["links"]["self"]).json()
    (at_fault,) = failed["error"]["errors"]
    shown = api.http.patch(f"{job['links']['segments']}/{at_fault['segment']}", json={"text": "Shorter."}).json()
    state = api.http.get(job["links"]["self"]).json()["state"]
    retried = api.http.post(f"{job['links']['self']}/retry").json()

    assert (failed["error"]["retryable"], shown["id"]) == (True, at_fault["segment"])
    assert (shown["state"], state, retried["error"]) == ("pending", "failed", None)
    assert speak(api).edit.text == "Shorter."


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({}, ""),
        ({"text": "..."}, "/text"),
        ({"text": "x" * 1_001}, "/text"),
        ({"text": "字" * 900}, "/text"),
        ({"text": "word " * 60}, "/text"),
        ({"speaker": "NOBODY"}, "/speaker"),
        ({"voice": "Alice", "speaker": ""}, ""),
        ({"language": "Klingon"}, "/language"),
        ({"seed": -1}, "/seed"),
        ({"volume": 3}, "/volume"),
    ],
)
def test_a_change_that_cannot_be_is_refused(api: ServedApi, change: dict[str, Any], pointer: str) -> None:
    api.models.publish(replace(SMALL, max_text_tokens=1_100, max_text_chars=280))
    job = finished(api)

    answer = api.http.patch(at(job, 0), json=change)

    assert (answer.status_code, answer.json()["errors"][0].get("pointer", "")) == (422, pointer), answer.text
    assert api.http.get(job["links"]["self"]).json()["state"] == "succeeded"


def test_a_voice_that_is_none_is_not_found(api: ServedApi) -> None:
    job = finished(api)

    answer = api.http.patch(at(job, 0), json={"voice": "Carol"})

    assert (answer.status_code, answer.json()["code"]) == (404, "voice_not_found")


@pytest.mark.parametrize("segment_id", ["seg_", "seg_x", "-1", "seg_000003", "99999999", "seg_1/takes/x"])
def test_what_is_no_segment_is_not_found(api: ServedApi, segment_id: str) -> None:
    job = finished(api)

    answer = api.http.get(f"{job['links']['segments']}/{segment_id}")

    assert answer.status_code in (404, 405)


def test_a_cancelled_job_keeps_what_was_finished_until_it_is_deleted(api: ServedApi) -> None:
    job = planned(api)
    speak(api)
    api.http.post(job["links"]["cancel"])

    kept = [each["state"] for each in listed(api, job)]
    heard = api.http.get(at(job, 0, "/audio")).status_code
    api.http.delete(job["links"]["self"])
    gone = [
        api.http.get(address).status_code for address in (job["links"]["segments"], at(job, 0), at(job, 0, "/takes"))
    ]

    assert (kept, heard, gone) == (["done", "pending", "pending"], 200, [410, 410, 410])
    leftovers = [key for key in api.redis.scan_iter() if job_id(job) in key and "tombstone" not in key]
    assert (leftovers, api.traces()[1]) == ([], [])


def test_segments_can_be_read_while_the_first_of_them_is_finished(api: ServedApi) -> None:
    statuses: set[int] = set()
    for _ in range(10):
        job = planned(api)
        is_over = threading.Event()

        def read(path: str = f"/v1/jobs/{job['id']}/segments", is_over: threading.Event = is_over) -> None:
            while not is_over.is_set():
                statuses.add(api.http.get(path).status_code)

        reader = threading.Thread(target=read)
        reader.start()
        for _ in TEXTS:
            speak(api)
        is_over.set()
        join_in_time(reader)
        assemble(api)

    assert statuses == {200}


@pytest.mark.parametrize("damage", ["damaged", "lost"])
def test_what_the_store_lost_or_damaged_is_said_with_what_to_do(api: ServedApi, damage: str) -> None:
    job = planned(api)
    item = speak(api)
    key = segment(item.lease.tenant, item.lease.job, 0, item.lease.fence)
    data = bytearray(api.objects.get(key))
    api.objects.delete(key)
    if damage == "damaged":
        data[-1] ^= 1
        api.objects.put(key, bytes(data))

    working = api.http.get(at(job, 0, "/audio"))
    api.jobs.fail(claim(api, GPU_QUEUE).lease, JobError("worker_lost", "gone"))
    failed = api.http.get(at(job, 0, "/audio"))
    read = api.http.get(at(job, 0))

    assert [answer.status_code for answer in (working, failed, read)] == [409, 409, 409]
    assert {answer.json()["code"] for answer in (working, failed, read)} == {"segment_damaged"}
    what = "seg_000000 is damaged in the store" if damage == "damaged" else "seg_000000 is not in the store any more"
    assert working.json()["detail"] == f"{what}; the job's assembly will have it spoken again"
    remedy = f"retry the job (POST /v1/jobs/{job['id']}/retry), and the segment is spoken again"
    assert failed.json()["detail"] == read.json()["detail"] == f"{what}; {remedy}"


@pytest.mark.parametrize("damage", ["lost", "damaged"])
def test_a_plan_that_the_store_lost_is_said_with_what_to_do(api: ServedApi, damage: str) -> None:
    job = finished(api)
    key = api.jobs.get(TenantId("local"), job_id(job)).plan_key
    assert key is not None
    api.objects.delete(key)
    if damage == "damaged":
        api.objects.put(key, b"no plan")

    answers = [api.http.get(f"/v1/jobs/{job['id']}/{what}") for what in ("segments", "audio")]

    for answer in answers:
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (409, "state_conflict")
        assert "has lost the plan" in problem["detail"]


def test_a_character_keeps_its_name_with_another_voice(api: ServedApi) -> None:
    job = finished(api, speakers={"Anna": "Alice", "Tom": "Alice"})
    for index, name in enumerate(("Anna", "Tom")):
        api.http.patch(at(job, index), json={"speaker": name}).raise_for_status()

    shown = [api.http.patch(at(job, index), json={"voice": "bob"}).json() for index in (0, 1)]
    assert [(each["speaker"], each["voice"]) for each in shown] == [("Anna (Bob)", "Bob"), ("Tom (Bob)", "Bob")]

    back = api.http.patch(at(job, 0), json={"voice": "alice"}).json()
    assert (back["speaker"], back["voice"]) == ("Anna", "Alice")


def test_the_events_of_a_job_say_what_an_edit_changed(api: ServedApi) -> None:
    job = finished(api, speakers={"Anna": "Bob"})

    def patch(index: int, **change: str) -> None:
        api.http.patch(at(job, index), json=change).raise_for_status()
        speak(api)

    patch(0, text="")
    api.http.patch(f"{job['links']['self']}/sentences/seg_000000.1", json={"text": "Here again."}).raise_for_status()
    speak(api)
    api.http.post(at(job, 0, "/takes/2/select")).raise_for_status()
    api.http.patch(job["links"]["segments"], json={"segments": ["0"], "takes": [1]}).raise_for_status()
    patch(1, text="What now?", voice="bob")
    patch(1, speaker="Anna")
    api.http.patch(job["links"]["segments"], json={"segments": ["1", "2"], "voice": "Alice"}).raise_for_status()
    speak(api)
    speak(api)
    patch(2, text="All is fine.")
    words = [{"grapheme": "fine", "alias": "fyne"}]
    api.http.patch(job["links"]["segments"], json={"segments": ["2"], "pronunciations": words}).raise_for_status()
    speak(api)
    api.http.post(at(job, 2, "/regenerate")).raise_for_status()

    told = [each.data for each in EventLog(api.redis).read(job_id(job)) if "take" in each.data]
    assert [(each["segment"], each.get("changed")) for each in told if "audio_ms" not in each] == [
        (0, "deleted"), (0, "brought_back"), (0, None), (0, "brought_back"), (1, "text,voice"), (1, "speaker"),
        (1, "voice"), (2, "voice"), (2, "text"), (2, "pronunciation"), (2, "again"),
    ]  # fmt: skip
