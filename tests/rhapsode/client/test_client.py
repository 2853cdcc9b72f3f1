"""Both clients against the whole system: API, Valkey, workers on the fake engine and a folder store."""

from __future__ import annotations

import asyncio
import hashlib
import wave
from pathlib import Path

import pytest

from rhapsode import AsyncRhapsode, Conflict, Gone, InvalidRequest, JobNotSucceeded, JobState, NotFound, Rhapsode
from rhapsode.client.calls import JobFilter
from rhapsode.contract.jobs.narration import ShownNarration
from rhapsode.stack.stack import Stack

TEXT = "The wind and the sun were disputing which was the stronger. Suddenly they saw a traveller coming down the road."
LONG = " ".join(f"{TEXT} That was number {number}." for number in range(400))


def test_a_text_becomes_a_wav_whose_bytes_are_the_recorded_ones(client: Rhapsode, tmp_path: Path) -> None:
    job = client.submit_job(TEXT, seed=7, metadata={"book": "fables"})
    assert not job.state.is_terminal

    ended = client.wait(job, timeout_s=120).raise_unless_succeeded()
    path = client.download(ended, "narration.wav", tmp_path / "out.wav")

    recorded = ended.artifact("narration.wav")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == recorded.sha256
    with wave.open(str(path)) as file:
        assert file.getnframes() / file.getframerate() == pytest.approx(recorded.duration_s, abs=1e-3)
    assert ended.progress.segments.done == ended.progress.segments.total > 0
    assert isinstance(ended.request, ShownNarration)
    assert ended.request.seed == 7
    assert ended.metadata == {"book": "fables"}
    with pytest.raises(KeyError, match=r"narration\.wav"):
        client.download(ended, "narration.mp3", tmp_path / "out.mp3")


def test_the_same_key_is_the_same_job(client: Rhapsode) -> None:
    first = client.submit_job(TEXT, idempotency_key="fable-1")
    second = client.submit_job(TEXT, idempotency_key="fable-1")

    assert first.id == second.id
    client.wait(first, timeout_s=120)


def test_events_tell_the_whole_story_and_can_be_read_from_the_middle(client: Rhapsode) -> None:
    job = client.submit_job(TEXT)

    events = list(client.events(job))

    # Progress is told as it comes, not logged.
    logged = [event for event in events if event.type != "job.progress"]
    kinds = [event.type for event in logged]
    assert kinds[0] == "job.created"
    assert "job.segment.completed" in kinds
    assert kinds[-1] == "job.succeeded"
    assert list(client.events(job, after=logged[1].id)) == logged[2:]


def test_a_job_is_cancelled_then_deleted_then_gone(client: Rhapsode) -> None:
    job = client.submit_job(LONG)

    with pytest.raises(Conflict):
        client.delete(job)
    client.cancel(job)
    ended = client.wait(job, timeout_s=120)

    assert ended.state is JobState.CANCELLED
    assert client.cancel(job).state is JobState.CANCELLED
    with pytest.raises(JobNotSucceeded, match="cancelled"):
        ended.raise_unless_succeeded()
    client.delete(job)
    with pytest.raises(Gone):
        client.job(job.id)


def test_every_job_is_listed_across_pages(client: Rhapsode) -> None:
    made = [client.submit_job("Short.", metadata={"run": "pages"}).id for _ in range(5)]
    for job_id in made:
        client.wait(job_id, timeout_s=120)

    listed = [job.id for job in client.jobs(JobFilter(metadata={"run": "pages"}), page_size=2)]
    failed = list(client.jobs(JobFilter(states=frozenset({JobState.FAILED}), metadata={"run": "pages"})))

    assert listed == list(reversed(made))
    assert failed == []


def test_models_say_what_can_speak(client: Rhapsode) -> None:
    (model,) = client.models()

    assert model.name == "fake"
    assert model.speakers


def test_an_unknown_voice_is_pointed_at(client: Rhapsode) -> None:
    with pytest.raises((InvalidRequest, NotFound)) as caught:
        client.submit_job(TEXT, voice="nobody")

    assert "/voice" in [violation.where for violation in caught.value.violations]


def test_an_unknown_job_is_not_found(client: Rhapsode) -> None:
    with pytest.raises(NotFound):
        client.job("job_01ARZ3NDEKTSV4RRFFQ69G5FAV")


def test_the_asyncio_client_does_the_same(stack: Stack, tmp_path: Path) -> None:
    async def narrate() -> list[str]:
        async with AsyncRhapsode(stack.url) as client:
            job = await client.submit_job(TEXT, seed=3, metadata={"run": "async"})
            kinds = [event.type async for event in client.events(job)]
            ended = await client.wait(job, timeout_s=120)
            await client.download(ended, "narration.wav", tmp_path / "async.wav")
            assert [job.id async for job in client.jobs(JobFilter(metadata={"run": "async"}))] == [job.id]
            assert (await client.models())[0].name == "fake"
            with pytest.raises(Conflict):
                await client.cancel(job)
            await client.delete(job)
            return kinds

    assert asyncio.run(narrate())[-1] == "job.succeeded"
    assert (tmp_path / "async.wav").read_bytes()[:4] == b"RIFF"
