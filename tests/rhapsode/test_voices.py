"""Voices through the client and the command line, on a whole stack with the fake engine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rhapsode import AsyncRhapsode, Conflict, Gone, InvalidRequest, NotFound, Rhapsode, Voice
from rhapsode.stack.stack import Stack
from tests.rhapsode.conftest import RunCli
from tests.worker.reference_audio.sounds import file_of, tone

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


# The command line


def test_a_voice_is_added_listed_shown_and_removed(stack: Stack, recording: Path, run_cli: RunCli) -> None:
    server = ("--server", stack.url)

    added = run_cli("voices", "add", str(recording), "--name", "Mary B", "--consent", CONSENT, *server)
    listed = run_cli("voices", "list", "--kind", "own", *server)
    shown = run_cli("voices", "show", "mary b", *server)
    as_json = run_cli("voices", "show", "Mary B", "--json", *server)
    removed = run_cli("voices", "rm", "Mary B", *server)

    assert added.returncode == 0, added.stderr
    voice_id = added.stdout.split()[0]
    assert listed.stdout.split("\t")[:3] == [voice_id, "own", "Mary B"]
    assert CONSENT in shown.stdout
    assert Voice.model_validate(json.loads(as_json.stdout)).id == voice_id
    assert removed.returncode == 0, removed.stderr
    assert run_cli("voices", "list", "--kind", "own", *server).stdout == "no voices\n"


def test_a_voice_that_cannot_be_had_is_one_line_and_a_status(stack: Stack, tmp_path: Path, run_cli: RunCli) -> None:
    server = ("--server", stack.url)
    text = tmp_path / "text.wav"
    text.write_text("It was a dark and stormy night.")

    refused = run_cli("voices", "add", str(text), "--name", "Mary", "--consent", CONSENT, *server)
    missing = run_cli("voices", "show", "Nobody", *server)
    nowhere = run_cli("voices", "add", "nowhere.wav", "--name", "Mary", "--consent", CONSENT, *server)

    assert (refused.returncode, missing.returncode, nowhere.returncode) == (1, 1, 2)
    assert "not a WAV" in refused.stderr
    assert "'Nobody'" in missing.stderr
    assert all(outcome.stderr.count("\n") == 1 for outcome in (refused, missing, nowhere))


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
