"""What models there are, and what of them a job may ask for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storage.jobs.work_queues import CPU_QUEUE
from tests.api.harness import SMALL, ServedApi, claim


def test_a_model_is_read_by_its_name(api: ServedApi) -> None:
    of_the_list = api.http.get("/v1/models").json()["data"][0]

    assert api.http.get("/v1/models/small").json() == of_the_list
    missing = api.http.get("/v1/models/large")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert "small" in missing.json()["detail"]


@pytest.mark.parametrize("name", ["tts-1", "TTS-1-HD", "gpt-4o-mini-tts-2025-12-15"])
def test_a_name_that_is_spoken_with_is_a_model(api: ServedApi, name: str) -> None:
    told = api.http.get(f"/v1/models/{name}")
    spoken = api.http.post(
        "/v1/audio/speech", json={"input": "Hello.", "model": name}, headers={"Prefer": "respond-async"}
    )

    assert (told.status_code, told.json()["name"]) == (200, "small")
    assert spoken.json()["request"]["model"] == "small"


def test_strict_is_promised_only_where_a_worker_can_see_to_it(api: ServedApi) -> None:
    body = {"input": {"text": "Good morning."}, "reproducibility": "strict"}

    offered = api.http.get("/v1/models/small").json()["reproducibility"]
    refused = api.http.post("/v1/jobs", json=body)
    api.models.publish(replace(SMALL, is_strict=True))
    # Another worker of the same model, that is not: the one that is strict is still there.
    api.models.publish(SMALL)
    offered_since = api.http.get("/v1/models/small").json()["reproducibility"]
    accepted = api.http.post("/v1/jobs", json=body)

    assert (offered, offered_since) == (["best_effort"], ["best_effort", "strict"])
    assert refused.status_code == 422
    assert [(error["pointer"], error["code"]) for error in refused.json()["errors"]] == [
        ("/reproducibility", "not_supported")
    ]
    assert accepted.json()["request"]["reproducibility"] == "strict"
    assert claim(api, CPU_QUEUE).narration.request.reproducibility == "strict"


def test_a_job_says_what_will_speak_it_as_far_as_that_is_known(api: ServedApi) -> None:
    assert api.submit()["engine"] == {
        "model": "small",
        "model_revision": None,
        "voice_cache": None,
        "config_sha256": None,
    }
