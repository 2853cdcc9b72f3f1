"""Two models on one fleet, with real checkpoints: each job is spoken by a worker of its own model, or of both."""

from __future__ import annotations

import io
import json
from pathlib import Path

import httpx
import pytest
import soundfile

from rhapsode.stack import processes
from tests.faults.conftest import StartSystem
from tests.faults.system import TENANTS, RunningSystem, api_key
from tests.tiny_checkpoint import make_checkpoint
from worker.settings import SMALL_VOICE

pytestmark = [pytest.mark.faults, pytest.mark.timeout(900)]

NATIVE = {"RHAPSODE_ENGINE": "native", "RHAPSODE_SLOTS": "4"}
PATIENCE_S = 600


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    make_checkpoint(tmp_path / "tiny", "tiny", "custom_voice", 3, 4.0)
    return tmp_path / "tiny"


def client(system: RunningSystem) -> httpx.Client:
    headers = {"Authorization": f"Bearer {api_key(TENANTS[0])}"}
    return httpx.Client(base_url=system.url, headers=headers, timeout=60, follow_redirects=True, trust_env=False)


def submitted(http: httpx.Client, model: str) -> str:
    body = {"input": {"text": "The river crossed the garden."}, "model": model, "quality": {"gate": "off"}}
    return str(http.post("/v1/jobs", json=body).raise_for_status().json()["id"])


def spoken_by(system: RunningSystem, http: httpx.Client, job: str) -> tuple[str, str, float]:
    """The model and its revision, as the manifest has them, and the seconds that were spoken."""

    def has_ended() -> bool:
        answer = http.get(f"/v1/jobs/{job}", headers={"Prefer": "wait=10"}).raise_for_status().json()
        assert answer["state"] in ("pending", "running", "succeeded"), answer
        return bool(answer["state"] == "succeeded")

    system.eventually(has_ended, PATIENCE_S)
    manifest = json.loads(http.get(f"/v1/jobs/{job}/artifacts/manifest.json").raise_for_status().text)
    wav = http.get(f"/v1/jobs/{job}/artifacts/narration.wav").raise_for_status().content
    (revision,) = manifest["revisions"]
    return manifest["model"], revision, soundfile.info(io.BytesIO(wav)).duration


def test_each_worker_speaks_the_jobs_of_its_own_checkpoint(start_system: StartSystem, tiny: Path) -> None:
    system = start_system(**NATIVE)
    system.start_gpu_worker("gpu-tiny", RHAPSODE_CHECKPOINT=str(tiny))

    with client(system) as http:
        jobs = [submitted(http, model) for model in ("small_voice", "tiny") * 3]
        spoken = [spoken_by(system, http, job) for job in jobs]

    assert [model for model, _, _ in spoken] == ["small_voice", "tiny"] * 3
    assert len({revision for _, revision, _ in spoken}) == 2
    assert all(seconds > 0 for _, _, seconds in spoken)


def test_one_worker_loads_the_checkpoint_that_is_asked_for(start_system: StartSystem, tiny: Path) -> None:
    settings = {**NATIVE, "RHAPSODE_CHECKPOINTS": f"{SMALL_VOICE},{tiny}"}
    system = start_system(**settings)
    pid = system.pid(processes.GPU_WORKER)

    with client(system) as http:
        offered = {each["id"]: each["available"] for each in http.get("/v1/models").raise_for_status().json()["data"]}
        jobs = [submitted(http, model) for model in ("tiny", "small_voice", "tiny")]
        spoken = [spoken_by(system, http, job) for job in jobs]

    assert offered == {"small_voice": True, "tiny": True}
    assert [model for model, _, _ in spoken] == ["tiny", "small_voice", "tiny"]
    assert spoken[0][1] == spoken[2][1] != spoken[1][1]
    # Twice at most: what waits for one model is spoken together.
    assert 1 <= len(system.log_events("another model loaded")) <= 2
    assert system.pid(processes.GPU_WORKER) == pid


def test_a_checkpoint_that_cannot_be_used_is_named_at_the_start(start_system: StartSystem, tiny: Path) -> None:
    (tiny / "speech_tokenizer" / "model.safetensors").unlink()

    with pytest.raises(AssertionError) as raised:
        start_system(**NATIVE, RHAPSODE_CHECKPOINTS=f"{SMALL_VOICE},{tiny}")

    assert "the gpu worker cannot start" in str(raised.value)
    assert str(tiny) in str(raised.value)
