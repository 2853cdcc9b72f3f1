"""`RHAPSODE_CONSENT=operator`: what the operator states stands in the record of each voice that is cloned."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.jobs.segments.planned_job import narration_of
from api.settings import ApiSettings, ConsentBy
from api.voices.consent import OPERATORS_STATEMENT
from storage.ids import JobId, TenantId
from tests.api.harness import ServedApi, serve
from tests.api.voices.voices import BASE, CONSENT, EMBEDDING, recording
from tests.command_line import CommandLine
from tests.environment import without_settings

REF_AUDIO = f"data:audio/wav;base64,{base64.b64encode(recording()).decode()}"


@pytest.fixture
def operators(api_settings: ApiSettings) -> Iterator[ServedApi]:
    with serve(api_settings.model_copy(update={"consent": ConsentBy.OPERATOR})) as api:
        api.models.publish(BASE)
        yield api


def kept(api: ServedApi, answer: Any) -> str:
    assert answer.status_code == 202, answer.text
    own = narration_of(api.jobs.get(TenantId("local"), JobId(answer.json()["id"]))).own_voice
    assert own is not None
    return own.consent


def test_vllm_omnis_clone_call_needs_no_new_field(operators: ServedApi) -> None:
    """As https://docs.vllm.ai/projects/vllm-omni shows it: examples/online_serving/text_to_speech."""
    order = {"input": "Hello.", "task_type": "Base", "ref_audio": REF_AUDIO, "ref_text": "What it says."}
    prefer = {"Prefer": "respond-async"}

    by_recording = operators.http.post("/v1/audio/speech", json=order, headers=prefer)
    embedding = {"input": "Hello.", "speaker_embedding": EMBEDDING.tolist()}
    by_embedding = operators.http.post("/v1/audio/speech", json=embedding, headers=prefer)
    job = operators.http.post("/v1/jobs", json={"input": {"text": "Hello."}, "ref_audio": REF_AUDIO})
    said = operators.http.post("/v1/audio/speech", json=order | {"consent": CONSENT}, headers=prefer)

    assert {kept(operators, each) for each in (by_recording, by_embedding, job)} == {OPERATORS_STATEMENT}
    assert kept(operators, said) == CONSENT


def test_a_voice_keeps_the_operators_statement_or_its_own(operators: ServedApi) -> None:
    def uploaded(**form: str) -> Any:
        return operators.http.post("/v1/audio/voices", data=form, files={"audio_sample": ("x.wav", recording())}).json()

    assert uploaded(name="Ada")["voice"]["consent"] == OPERATORS_STATEMENT
    assert uploaded(name="Eve", consent=CONSENT)["voice"]["consent"] == CONSENT
    assert uploaded(name="Bo", consent="false")["error"]["param"] == "consent"
    ada = operators.http.get("/v1/voices", params={"name": "Ada"}).json()["data"][0]
    assert (ada["consent"]["statement"], ada["consent"]["actor"]) == (OPERATORS_STATEMENT, "local")


def test_the_command_line_needs_no_statement(operators: ServedApi, command_line: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "ada.wav").write_bytes(recording())
    server = ("--server", operators.url)

    added = command_line.run(
        "voices", "add", "ada.wav", "--name", "Ada", *server, folder=tmp_path, environment=without_settings(os.environ)
    )

    assert (added.returncode, added.stderr) == (0, "")
    assert operators.http.get("/v1/voices").json()["data"][0]["consent"]["statement"] == OPERATORS_STATEMENT
