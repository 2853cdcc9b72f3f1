"""Voices through the client and the command line, on a whole stack with the fake engine."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from rhapsode import AsyncRhapsode, Conflict, Gone, InvalidRequest, NotFound, Rhapsode, Voice, VoiceCache
from rhapsode.client.voices.orders import Blend, BulkOrder, Preview
from rhapsode.contract.jobs.narration import ShownNarration
from rhapsode.stack.stack import Stack
from tests.rhapsode.conftest import RunCli
from tests.worker.voices.reference_audio.sounds import file_of, tone

CONSENT = "I am the speaker and I agree."
TEXT = "The wind and the sun were disputing. Each said that he was the stronger."


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "take.flac"
    path.write_bytes(file_of(tone(1.5), kind="flac"))
    return path


@pytest.fixture(autouse=True)
def no_voices_left(stack: Stack) -> Iterator[None]:
    yield
    with Rhapsode(stack.url) as client:
        for voice in client.voices.list("own"):
            client.voices.delete(voice)


def test_a_recording_becomes_a_voice_that_is_found_by_id_and_by_name(client: Rhapsode, recording: Path) -> None:
    made = client.voices.add("Mary", recording, consent=CONSENT, ref_text="Hello there.", language="english")

    assert made.id is not None
    assert client.voices.get(made.id) == client.voices.get("mary") == made
    assert (made.kind, made.name, made.ref_text, made.revision) == ("own", "Mary", "Hello there.", 1)
    assert made.consent is not None
    assert made.consent.statement == CONSENT
    assert client.voices.sample("Mary") == recording.read_bytes()


def test_a_voice_is_changed_replaced_and_deleted(client: Rhapsode, recording: Path, tmp_path: Path) -> None:
    made = client.voices.add("Mary", recording, consent=CONSENT)
    other = tmp_path / "other.wav"
    other.write_bytes(file_of(tone(2.0)))

    changed = client.voices.change(made, name="Grace", metadata={"take": "2"})
    replaced = client.voices.replace_recording("Grace", other, consent=CONSENT, ref_text="Again.")
    client.voices.delete("Grace")

    assert (changed.name, changed.metadata, changed.description) == ("Grace", {"take": "2"}, "")
    assert (replaced.revision, replaced.ref_text) == (2, "Again.")
    assert made.id is not None
    with pytest.raises(Gone):
        client.voices.get(made.id)
    with pytest.raises(NotFound):
        client.voices.get("Grace")


def test_what_is_no_recording_is_refused_with_the_reason(client: Rhapsode, tmp_path: Path) -> None:
    silent = tmp_path / "silent.wav"
    silent.write_bytes(file_of(np.zeros(20_000, np.float32)))

    with pytest.raises(InvalidRequest, match="silent"):
        client.voices.add("Mary", silent, consent=CONSENT)
    with pytest.raises(InvalidRequest, match="consent"):
        client.voices.add("Mary", silent, consent=" ")
    with pytest.raises(FileNotFoundError):
        client.voices.add("Mary", tmp_path / "nowhere.wav", consent=CONSENT)


def test_a_name_is_taken_once(client: Rhapsode, recording: Path) -> None:
    client.voices.add("Mary Two", recording, consent=CONSENT)

    with pytest.raises(Conflict, match="already"):
        client.voices.add("mary two", recording, consent=CONSENT)


def test_voices_of_the_models_are_listed_before_ones_own(client: Rhapsode, recording: Path) -> None:
    made = [client.voices.add(f"Voice {n}", recording, consent=CONSENT) for n in range(3)]

    found = list(client.voices.list(page_size=2))

    assert [voice for voice in found if voice.kind == "own"] == made[::-1]
    assert {voice.name for voice in client.voices.list("built_in")} >= {"ada"}
    with pytest.raises(ValueError, match="comes with its model"):
        client.voices.delete(found[0])


def test_a_voice_of_a_model_is_found_by_its_name_and_heard_and_nothing_else(
    client: Rhapsode, stack: Stack, run_cli: RunCli
) -> None:
    found = client.voices.get("ADA")
    heard = client.wait(client.voices.preview("ada", Preview("Good morning.", seed=3)), timeout_s=120)
    shown = run_cli("voices", "show", "ada", "--server", stack.url)
    deleted = run_cli("voices", "rm", "ada", "nobody", "--server", stack.url)

    assert (found.kind, found.name, found.id) == ("built_in", "ada", None)
    assert heard.raise_unless_succeeded().metadata == {"preview_of": "ada"}
    assert [line.split(maxsplit=1) for line in shown.stdout.splitlines()[:2]] == [
        ["voice", "built in"],
        ["name", "ada"],
    ]
    assert (deleted.returncode, deleted.stdout) == (1, "")
    assert deleted.stderr.splitlines() == [
        "rhapsode: ada: ada comes with its model; only uploaded voices can be changed, prepared or exported",
        "rhapsode: nobody: no voice is called 'nobody' [404 voice_not_found]",
    ]


def test_an_embedding_goes_in_and_comes_out_bit_for_bit(client: Rhapsode) -> None:
    values = np.linspace(-1, 1, 8, dtype="<f4")

    made = client.voices.add_embedding("Vector", values.tobytes(), consent=CONSENT)
    exported = client.voices.embedding(made)
    again = client.voices.add_embedding("Vector two", exported, consent=CONSENT)

    assert made.sample is not None
    assert made.sample.kind == "embedding"
    assert client.voices.sample(again) == values.tobytes()


def test_the_asyncio_client_does_the_same(stack: Stack, recording: Path) -> None:
    async def go() -> list[str]:
        async with AsyncRhapsode(stack.url) as client:
            made = await client.voices.add("Mary", recording, consent=CONSENT)
            await client.voices.change("mary", description="calm")
            await client.voices.replace_recording(made, recording, consent=CONSENT)
            assert await client.voices.sample("Mary") == recording.read_bytes()
            assert (await client.voices.get("Mary")).description == "calm"
            names = [voice.name async for voice in client.voices.list("own")]
            await client.voices.delete(made)
            return names

    assert asyncio.run(go()) == ["Mary"]


# Caches


def is_settled(caches: tuple[VoiceCache, ...]) -> bool:
    return all(cache.state not in {"pending", "processing"} for cache in caches)


def eventually(look: Callable[[], tuple[VoiceCache, ...]]) -> tuple[VoiceCache, ...]:
    deadline = time.monotonic() + 120
    while not is_settled(caches := look()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return caches


def test_a_voice_is_made_ready_and_its_cache_dropped(client: Rhapsode, recording: Path) -> None:
    made = client.voices.add("Mary", recording, consent=CONSENT, ref_text="Hello there.")

    ordered = client.voices.prepare(made, mode="in_context")
    (cache,) = eventually(lambda: client.voices.caches("Mary"))

    assert [each.model for each in ordered] == ["fake"]
    assert (cache.state, cache.mode, cache.voice) == ("ready", "in_context", made.id)
    assert cache.bytes
    assert client.voices.prepare(made, mode="in_context") == (cache,)
    assert client.voices.embedding(made)
    client.voices.drop_caches(made)
    assert client.voices.caches(made) == ()


def test_many_voices_are_made_ready_by_one_job(client: Rhapsode, recording: Path) -> None:
    made = [client.voices.add(f"Mary {n}", recording, consent=CONSENT) for n in range(5)]

    job = client.voices.prepare_many(BulkOrder(), idempotency_key="once")
    again = client.voices.prepare_many(BulkOrder(), idempotency_key="once")
    ended = client.wait(job, timeout_s=120)

    assert again.id == job.id
    assert (ended.kind, ended.state, ended.progress.segments.done) == ("voice_cache", "succeeded", 5)
    ready = list(client.voices.list_caches({"ready"}, page_size=2))
    assert {cache.voice for cache in ready} == {voice.id for voice in made}
    assert list(client.voices.list_caches({"failed"})) == []


def test_the_asyncio_client_makes_voices_ready_too(stack: Stack, recording: Path) -> None:
    async def go() -> None:
        async with AsyncRhapsode(stack.url) as client:
            made = await client.voices.add("Mary", recording, consent=CONSENT)
            await client.voices.prepare(made)
            ended = await client.wait(await client.voices.prepare_many(BulkOrder(["Mary"])), timeout_s=120)
            assert ended.progress.segments.done == 1
            assert is_settled(await client.voices.caches("Mary"))
            assert [cache.voice async for cache in client.voices.list_caches({"ready"})] == [made.id]
            await client.voices.drop_caches(made)

    asyncio.run(go())


# Speaking with them


def test_a_job_speaks_with_a_voice_of_ones_own(client: Rhapsode, recording: Path) -> None:
    made = client.voices.add("Mary", recording, consent=CONSENT, ref_text="Hello there.")

    whole = client.submit_job(TEXT, voice="mary", seed=1)
    bare = client.submit_job(TEXT, voice=made.id, seed=1, x_vector_only=True)
    other = client.submit_job(TEXT, voice="Mary", seed=1, ref_text="Good day.")
    waiting = client.submit_job(TEXT, voice="Mary", seed=1, if_cache_missing="wait")

    ended = [client.wait(job, timeout_s=120) for job in (whole, bare, other, waiting)]
    assert [job.state for job in ended] == ["succeeded"] * 4
    voices = [job.request.own_voice for job in ended if isinstance(job.request, ShownNarration)]
    assert [voice.mode for voice in voices if voice] == ["in_context", "x_vector", "in_context", "in_context"]
    assert [voice.ref_text for voice in voices if voice] == ["Hello there.", "", "Good day.", "Hello there."]


def test_a_job_brings_its_voice_along(client: Rhapsode) -> None:
    values = np.linspace(-1, 1, 8, dtype="<f4").tobytes()

    ended = client.wait(client.submit_job(TEXT, speaker_embedding=values, consent=CONSENT), timeout_s=120)

    numbers = client.wait(client.submit_job(TEXT, speaker_embedding=[0.5] * 8, consent=CONSENT), timeout_s=120)
    assert (ended.state, numbers.state) == ("succeeded", "succeeded")
    assert list(client.voices.list("own")) == []
    with pytest.raises(InvalidRequest, match="consent"):
        client.submit_job(TEXT, speaker_embedding=values)


def test_a_job_that_needs_a_ready_voice_is_refused_without_one(client: Rhapsode, recording: Path) -> None:
    client.voices.add("Mary", recording, consent=CONSENT)

    with pytest.raises(Conflict) as refused:
        client.submit_job(TEXT, voice="Mary", if_cache_missing="fail")

    assert refused.value.code == "voice_cache_not_ready"


def test_a_voice_says_a_sentence_and_others_are_blended_into_a_new_one(client: Rhapsode, recording: Path) -> None:
    client.voices.add("Mary", recording, consent=CONSENT)
    one, other = np.eye(8, dtype="<f4")[:2]
    client.voices.add_embedding("One", one.tobytes(), consent=CONSENT)
    client.voices.add_embedding("Other", other.tobytes(), consent=CONSENT)

    said = client.wait(client.voices.preview("Mary", Preview("Good morning.", seed=3)), timeout_s=120)
    between = client.voices.blend(Blend("Between", {"One": 1, "Other": 1}))

    assert said.state == "succeeded"
    assert said.artifact("narration.wav").bytes > 1_000
    values = np.frombuffer(client.voices.sample(between), "<f4")
    np.testing.assert_allclose(values, (one + other) / np.sqrt(2), atol=1e-6)


# The command line


def test_a_voice_is_added_listed_shown_and_removed(stack: Stack, recording: Path, run_cli: RunCli) -> None:
    server = ("--server", stack.url)

    added = run_cli("voices", "add", str(recording), "--name", "Mary B", "--consent", CONSENT, *server)
    listed = run_cli("voices", "list", "--kind", "own", *server)
    shown = run_cli("voices", "show", "mary b", *server)
    as_json = run_cli("voices", "show", "Mary B", "--json", *server)
    removed = run_cli("voices", "rm", "Mary B", *server)

    assert (added.returncode, added.stderr) == (0, "")
    voice_id = added.stdout.split()[0]
    assert listed.stdout.split("\t")[:3] == [voice_id, "own", "Mary B"]
    assert CONSENT in shown.stdout
    assert Voice.model_validate(json.loads(as_json.stdout)).id == voice_id
    assert removed.returncode == 0, removed.stderr
    assert run_cli("voices", "list", "--kind", "own", *server).stdout == "no voices\n"


def test_a_voice_that_cannot_be_had_is_one_line_and_a_status(
    stack: Stack, recording: Path, tmp_path: Path, run_cli: RunCli
) -> None:
    server = ("--server", stack.url)
    text = tmp_path / "text.wav"
    text.write_text("It was a dark and stormy night.")

    refused = run_cli("voices", "add", str(text), "--name", "Mary", "--consent", CONSENT, *server)
    unstated = run_cli("voices", "add", str(recording), "--name", "Mary", *server)
    missing = run_cli("voices", "show", "Nobody", *server)
    nowhere = run_cli("voices", "add", "nowhere.wav", "--name", "Mary", "--consent", CONSENT, *server)

    outcomes = (refused, unstated, missing, nowhere)
    assert [outcome.returncode for outcome in outcomes] == [1, 1, 1, 2]
    assert "the statement that the speaker agrees" in unstated.stderr
    assert "not a WAV" in refused.stderr
    assert "'Nobody'" in missing.stderr
    assert all(outcome.stderr.count("\n") == 1 for outcome in outcomes)


def test_an_embedding_is_exported_and_taken_back(
    stack: Stack, client: Rhapsode, tmp_path: Path, run_cli: RunCli
) -> None:
    client.voices.add_embedding("Vector", np.ones(8, "<f4").tobytes(), consent=CONSENT)
    file = tmp_path / "vector.safetensors"

    exported = run_cli("voices", "export", "Vector", "-o", str(file), "--server", stack.url)
    added = run_cli("voices", "add", str(file), "--name", "Copy", "--consent", CONSENT, "--server", stack.url)

    assert exported.returncode == 0, exported.stderr
    assert added.returncode == 0, added.stderr
    assert client.voices.sample("Copy") == client.voices.sample("Vector")


def test_voices_are_made_ready_from_the_command_line(
    stack: Stack, client: Rhapsode, recording: Path, run_cli: RunCli
) -> None:
    client.voices.add("Mary", recording, consent=CONSENT)

    prepared = run_cli("voices", "cache", "Mary", "--force", "--server", stack.url)
    shown = run_cli("voices", "show", "Mary", "--server", stack.url)
    job = run_cli("jobs", "show", prepared.stdout.split()[5].strip("("), "--server", stack.url)

    assert prepared.returncode == 0, prepared.stderr
    assert prepared.stdout.startswith("1 of 1 voices ready")
    assert "voices     1/1" in job.stdout
    assert "spoken" not in job.stdout
    assert "ready for fake, x_vector" in shown.stdout


def test_a_manifest_is_imported_made_ready_and_may_be_imported_again(
    stack: Stack, client: Rhapsode, tmp_path: Path, run_cli: RunCli
) -> None:
    manifest = tmp_path / "cast.csv"
    rows = ["name,audio,ref_text"]
    for n in range(3):
        (tmp_path / f"take {n}.wav").write_bytes(file_of(tone(1.1 + n / 10)))
        rows.append(f'Cast {n},take {n}.wav,"Hello, I am {n}."')
    manifest.write_text("\n".join(rows))
    command = ("voices", "import", str(manifest), "--consent", CONSENT, "--server", stack.url)

    first = run_cli(*command)
    second = run_cli(*command)

    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines()[0] == "3 voices added, 0 existed, 0 failed"
    assert first.stdout.splitlines()[1].startswith("3 of 3 voices ready")
    assert second.stdout.splitlines()[0] == "0 voices added, 3 existed, 0 failed"
    cast = {voice.name: voice.ref_text for voice in client.voices.list("own")}
    assert cast == {f"Cast {n}": f"Hello, I am {n}." for n in range(3)}
    modes = {cache.mode for cache in client.voices.list_caches({"ready"})}
    assert modes == {"in_context"}


def test_an_import_goes_on_past_what_cannot_become_a_voice_and_names_its_line(
    stack: Stack, client: Rhapsode, tmp_path: Path, run_cli: RunCli
) -> None:
    (tmp_path / "good.wav").write_bytes(file_of(tone(1.5)))
    (tmp_path / "other.wav").write_bytes(file_of(tone(1.7)))
    (tmp_path / "silent.wav").write_bytes(file_of(np.zeros(20_000, np.float32)))
    manifest = tmp_path / "cast.jsonl"
    takes = [("One", "silent.wav"), ("Two", "good.wav"), ("Three", "nowhere.wav"), ("Two", "other.wav")]
    listed = [{"name": name, "audio": audio, "consent": CONSENT} for name, audio in takes]
    manifest.write_text("\n".join(map(json.dumps, [*listed, {"name": "Four", "audio": "good.wav"}])))

    outcome = run_cli("voices", "import", str(manifest), "--no-prepare", "--server", stack.url)

    assert outcome.returncode == 1
    assert outcome.stdout == "1 voices added, 0 existed, 4 failed\n"
    troubles = outcome.stderr.splitlines()
    # Of the two that are called Two, the one that arrives first is taken.
    assert len(troubles) == 4
    assert "cast.jsonl:5: " in troubles[3]
    assert "consent" in troubles[3]
    assert "cast.jsonl:1: " in troubles[0]
    assert "silent" in troubles[0]
    assert "cast.jsonl:3: " in outcome.stderr
    assert "is the name of another recording already" in outcome.stderr
    assert [voice.name for voice in client.voices.list("own")] == ["Two"]


def test_a_voice_is_blended_and_tried_from_the_command_line(
    stack: Stack, client: Rhapsode, tmp_path: Path, run_cli: RunCli
) -> None:
    one, other = np.eye(8, dtype="<f4")[:2]
    client.voices.add_embedding("One", one.tobytes(), consent=CONSENT)
    client.voices.add_embedding("a=b", other.tobytes(), consent=CONSENT)
    server = ("--server", stack.url)

    blended = run_cli("voices", "blend", "One=3", "a=b", "--name", "Between", "--method", "lerp", *server)
    saved = tmp_path / "between.wav"
    spoken = run_cli("voices", "try", "Between", "--no-play", "--save", str(saved), *server)

    assert blended.returncode == 0, blended.stderr
    values = np.frombuffer(client.voices.sample("Between"), "<f4")
    np.testing.assert_allclose(values, (3 * one + other) / 4, atol=1e-6)
    assert spoken.returncode == 0, spoken.stderr
    assert saved.read_bytes()[:4] == b"RIFF"
