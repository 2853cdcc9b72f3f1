"""What a job asks of its segments' quality: defaults, and what no worker could check."""

from __future__ import annotations

import dataclasses

import pytest

from rhapsode.contract.jobs.quality import Gate, OnExhausted, Quality
from storage.ids import TenantId
from storage.narration.spec import NarrationSpec
from tests.api.harness import SMALL, ServedApi, job_id

LOCAL = TenantId("local")
LISTENING = dataclasses.replace(SMALL, name="listening", recognised_languages=SMALL.languages[:1])


def spec_of(api: ServedApi, job: dict[str, object]) -> NarrationSpec:
    spec = api.jobs.get(LOCAL, job_id(job)).spec
    assert isinstance(spec, NarrationSpec)
    return spec


def test_a_job_is_checked_unless_it_says_otherwise(api: ServedApi) -> None:
    job = api.submit()

    assert spec_of(api, job).request.quality == Quality(
        gate=Gate.BASIC, max_attempts=3, on_exhausted=OnExhausted.KEEP_BEST
    )
    assert job["request"]["quality"] == {"gate": "basic", "max_attempts": 3, "on_exhausted": "keep_best"}
    assert job["quality"] == {"gate": "basic", "retries": 0, "flagged_segments": [], "gaps": []}
    assert job["warnings"] == []
    assert not spec_of(api, job).seed_fixed


def test_what_a_job_asks_for_reaches_the_worker(api: ServedApi) -> None:
    job = api.submit(quality={"gate": "off", "max_attempts": 10, "on_exhausted": "keep_best_or_gap"}, seed=3)

    assert spec_of(api, job).request.quality == Quality(
        gate=Gate.OFF, max_attempts=10, on_exhausted=OnExhausted.KEEP_BEST_OR_GAP
    )
    assert spec_of(api, job).seed_fixed


@pytest.mark.parametrize(
    "quality", [{"gate": "strict"}, {"max_attempts": 0}, {"max_attempts": 11}, {"on_exhausted": "hide"}, {"level": 1}]
)
def test_what_is_no_quality_is_refused(api: ServedApi, quality: dict[str, object]) -> None:
    answer = api.http.post("/v1/jobs", json={"input": {"text": "Hello."}, "quality": quality})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith("/quality/")


def test_a_gate_that_no_worker_can_apply_is_refused_and_not_weakened(api: ServedApi) -> None:
    api.models.publish(LISTENING)
    known, unknown = SMALL.languages[:2]

    def submitted(model: str, language: str) -> int:
        body = {"input": {"text": "Hello."}, "model": model, "language": language, "quality": {"gate": "asr"}}
        answer = api.http.post("/v1/jobs", json=body)
        if answer.status_code == 422:
            assert answer.json()["errors"][0]["pointer"] == "/quality/gate"
        return answer.status_code

    assert submitted("small", known) == 422
    assert submitted("listening", unknown) == 422
    assert submitted("listening", "auto") == 422
    assert submitted("listening", known) == 202
