"""A whole stack of which nothing was chosen speaks with Kokoro: a job, its files, and a stream."""

from __future__ import annotations

import io
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from tests.rhapsode.conftest import RunCli, clean_environment

pytestmark = pytest.mark.timeout(600)

TEXT = "The wind and the sun were disputing which was the stronger."


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    environment = clean_environment(RHAPSODE_ENGINE="native")
    del environment["RHAPSODE_CHECKPOINT"]
    with Stack(StackOptions(tmp_path_factory.mktemp("kokoro")), environment, lambda _: None) as stack:
        stack.wait_ready()
        with httpx.Client(base_url=stack.url, timeout=300, follow_redirects=True, trust_env=False) as client:
            yield client


def test_the_model_says_what_it_can(http: httpx.Client) -> None:
    (model,) = http.get("/v1/models").raise_for_status().json()["data"]

    assert (model["id"], len(model["speakers"]), model["num_codebooks"]) == ("kokoro", 28, 0)
    assert (model["languages"], model["voice_modes"], model["accepts_instructions"]) == (["english"], [], False)
    assert http.get("/v1/models/tts-1").raise_for_status().json()["name"] == "kokoro"


def test_a_sentence_is_narrated_by_a_blend_and_has_no_codes(http: httpx.Client) -> None:
    asked = {"input": {"text": TEXT}, "voice": "AF_Bella(2)+af_sky(1)"}

    job = http.post("/v1/jobs", json=asked).raise_for_status().json()["id"]
    ended = http.get(f"/v1/jobs/{job}", headers={"Prefer": "wait=240"}).raise_for_status().json()

    assert ended["state"] == "succeeded"
    files = http.get(f"/v1/jobs/{job}/artifacts").raise_for_status().json()["data"]
    assert {each["name"] for each in files} == {"narration.wav", "manifest.json"}
    with wave.open(io.BytesIO(http.get(f"/v1/jobs/{job}/artifacts/narration.wav").raise_for_status().content)) as wav:
        assert 2 < wav.getnframes() / wav.getframerate() < 6
    manifest = http.get(f"/v1/jobs/{job}/artifacts/manifest.json").raise_for_status().json()
    assert manifest["settings"]["voice"] == "af_bella(2)+af_sky(1)"
    assert manifest["no_codes"] == "the model speaks without codes, so there is no codes.safetensors"
    refused = http.get(f"/v1/jobs/{job}/artifacts/codes.safetensors")
    assert refused.status_code == 404
    assert refused.json()["detail"] == f"job {job} has no codes.safetensors: its model speaks without codes"


def ended(http: httpx.Client, job: str) -> list[list[str]]:
    """The guessed words of each segment, at its end."""
    assert http.get(f"/v1/jobs/{job}", headers={"Prefer": "wait=240"}).raise_for_status().json()["state"] == "succeeded"
    return [each["guessed"] for each in http.get(f"/v1/jobs/{job}/segments").raise_for_status().json()["data"]]


def test_a_guessed_word_is_told_until_the_user_says_it(http: httpx.Client) -> None:
    """Also in a copy of the speech, and by a dictionary."""
    asked: dict[str, Any] = {"input": {"text": "Vashkiri woke.\n\nThe wind met Vashkiri and Tholmar.\n\nIt rained."}}
    guessed = [["Vashkiri"], ["Vashkiri", "Tholmar"], []]
    job, copy = (http.post("/v1/jobs", json=asked).raise_for_status().json()["id"] for _ in range(2))
    assert (ended(http, job), ended(http, copy)) == (guessed, guessed)

    said = {"segments": ["0", "1", "2"], "pronunciations": [{"grapheme": "Vashkiri", "alias": "vash keeree"}]}
    http.patch(f"/v1/jobs/{job}/segments", json=said).raise_for_status()

    assert ended(http, job) == [[], ["Tholmar"], []]
    rules = [{"grapheme": "Tholmar", "alias": "toll mar"}]
    words = http.post("/v1/pronunciation-dictionaries", json={"name": "saga", "rules": rules}).raise_for_status().json()
    with_words = asked | {"pronunciation_dictionaries": [f"{words['id']}@1"]}
    assert ended(http, http.post("/v1/jobs", json=with_words).raise_for_status().json()["id"]) == [
        ["Vashkiri"],
        ["Vashkiri"],
        [],
    ]


def test_a_text_is_streamed_in_openais_voice(http: httpx.Client) -> None:
    asked = {"model": "tts-1", "input": TEXT, "voice": "nova", "response_format": "pcm", "stream": True}

    with http.stream("POST", "/v1/audio/speech", json=asked) as answer:
        pcm = b"".join(answer.iter_bytes())

    assert answer.status_code == 200, pcm
    assert (answer.headers["X-Model"], answer.headers["X-Voice"]) == ("kokoro", "af_nova")
    assert 2 < len(pcm) / 2 / 24_000 < 6


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"voice": "af_bella+nobody"}, "voice_not_found"),
        ({"language": "german"}, "unsupported_language"),
        ({"instructions": "sadly"}, "invalid_request"),
        ({"input": {"text": "字字字"}}, "unsupported_language"),
        ({"input": {"text": "…?!"}}, "invalid_request"),
    ],
)
def test_what_it_cannot_is_refused_before_a_job_is_there(http: httpx.Client, wrong: dict[str, Any], code: str) -> None:
    refused = http.post("/v1/jobs", json={"input": {"text": TEXT}, **wrong})

    assert (refused.status_code // 100, refused.json()["code"]) == (4, code)


def test_a_recording_is_refused_with_the_reason(http: httpx.Client, tmp_path: Path, run_cli: RunCli) -> None:
    recording = tmp_path / "voice.wav"
    recording.write_bytes(http.post("/v1/audio/speech", json={"input": TEXT, "response_format": "wav"}).content)

    refused = run_cli(
        *("voices", "add", str(recording), "--name", "Me", "--consent", "I agree.", "--server", str(http.base_url))
    )

    assert (refused.returncode, refused.stdout) == (1, "")
    assert "kokoro cannot clone voices; of the published checkpoints, Qwen3-TTS Base can" in refused.stderr
    assert http.get("/v1/voices", params={"kind": "own"}).json()["data"] == []
