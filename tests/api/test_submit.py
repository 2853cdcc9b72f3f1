"""POST /v1/jobs: what is accepted, and how it is answered."""

from __future__ import annotations

from tests.api.harness import ServedApi


def test_a_text_becomes_a_pending_job_with_its_address(api: ServedApi) -> None:
    answer = api.http.post("/v1/jobs", json={"input": {"text": "Good morning."}})

    job = answer.json()
    assert answer.status_code == 202
    assert job["state"] == "pending"
    assert answer.headers["location"] == job["links"]["self"] == f"{api.url}/v1/jobs/{job['id']}"
    assert int(answer.headers["retry-after"]) >= 1
    assert api.http.get(answer.headers["location"]).json()["id"] == job["id"]
