"""Bodies are thin, under 20 kB whatever the job is like, and what the API's description says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rhapsode.contract.webhook_payloads import WebhookPayload
from storage.jobs.chapter_files import file_name
from storage.webhooks.payloads import MAX_BODY_BYTES, compose

JOB = "job_01m7zx8874a9fx931zjk6ebjq3"
LABEL = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=512)


def job_facts(**changes: object) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "job": JOB,
        "kind": "synthesis",
        "state": "failed",
        "phase": "synthesizing",
        "at_ms": 1_800_000_000_000,
        "segments_total": 4,
        "segments_done": 1,
        "segments_failed": 1,
        "chars_done": 12,
        "audio_ms_done": 700,
        "version": "19",
        "created_at_ms": "1800000000000",
        "metadata": "{}",
    }
    return facts | changes


def body_of(event: str, facts: dict[str, Any]) -> WebhookPayload:
    text = compose(event, 1_800_000_000_000, json.dumps(facts), "https://api.example")
    assert len(text.encode()) < MAX_BODY_BYTES
    return WebhookPayload.model_validate_json(text)


def test_a_jobs_end_says_what_became_of_it() -> None:
    error = json.dumps({"code": "segment_quality", "detail": "it never ended", "segment": 3})
    own = {"name": "a.wav", "type": "wav", "key": "jobs/x", "bytes": 44, "sha256": "ab", "duration_s": 1.5}
    delivered = own | {"name": "b.wav", "key": "delivered/t/books/42/job_1/7/b.wav"}
    kept = {"code": "segment_quality", "detail": "it takes too long; the least bad was kept", "segment": 0}
    quoting = {"code": "foreign_letters", "detail": "the text has 'слово'", "segment": None}
    facts = job_facts(error=error, artifacts=json.dumps([own, delivered]), more=error)
    payload = body_of("job.failed", facts | {"flagged": "1", "warnings": json.dumps([kept, quoting])})

    assert payload.data.job is not None
    assert payload.data.job.phase is None
    assert payload.data.job.progress.fraction == 0.25
    assert payload.data.job.error is not None
    assert payload.data.job.error.segment == 3
    assert payload.data.job.progress.segments_flagged == 1
    assert [(each.segment, each.detail) for each in payload.data.job.warnings] == [(0, kept["detail"])]
    shown = [(each.name, each.key) for each in payload.data.job.artifacts]
    assert shown == [("a.wav", None), ("b.wav", "delivered/t/books/42/job_1/7/b.wav")]
    assert payload.data.links["self"] == f"https://api.example/v1/jobs/{JOB}"
    assert "jobs/x" not in payload.model_dump_json()


@given(
    metadata=st.dictionaries(LABEL.filter(bool), LABEL, max_size=16),
    detail=st.text(max_size=5_000),
    num_artifacts=st.integers(0, 60),
    name=LABEL.map(lambda text: file_name(0, 60, text, "wav")),
)
def test_no_job_makes_a_body_of_20_kb(metadata: dict[str, str], detail: str, num_artifacts: int, name: str) -> None:
    artifact = {"name": name, "type": "wav", "key": "k", "bytes": 44, "sha256": "a" * 64, "duration_s": None}
    error = json.dumps({"code": "internal", "detail": detail})

    payload = body_of(
        "job.failed",
        job_facts(metadata=json.dumps(metadata), error=error, artifacts=json.dumps([artifact] * num_artifacts)),
    )

    assert payload.data.job is not None
    if payload.data.job.omitted is None:
        assert payload.data.job.metadata == metadata
        assert len(payload.data.job.artifacts) == min(num_artifacts, 32)


def test_what_is_left_out_is_named() -> None:
    metadata = {f"key {number}": "€" * 512 for number in range(16)}

    payload = body_of("job.succeeded", job_facts(metadata=json.dumps(metadata)))

    assert payload.data.job is not None
    assert payload.data.job.omitted == ("metadata",)
    assert payload.data.job.metadata == {}


def test_a_batchs_end_says_how_its_jobs_did() -> None:
    facts = job_facts(job="bat_1", kind="batch", state="succeeded", lines="9", ended_succeeded="8", ended_failed="1")

    payload = body_of("batch.completed", facts)

    assert payload.data.batch is not None
    assert payload.data.batch.counts.model_dump() == {
        "total": 9,
        "succeeded": 8,
        "failed": 1,
        "cancelled": 0,
        "expired": 0,
    }
    assert payload.data.links["self"] == "https://api.example/v1/batches/bat_1"


@pytest.mark.parametrize(
    ("event", "facts", "subject"),
    [
        ("voice.created", {"voice": "voc_1", "name": "Ada"}, "voice"),
        ("voice.deleted", {"voice": "voc_1", "name": None}, "voice"),
        ("voice.cache.ready", {"voice": "voc_1", "name": "Ada", "mode": "x_vector", "model": "small"}, "cache"),
        (
            "voice.cache.failed",
            {"voice": "v", "mode": "x_vector", "model": "s", "error": '{"code":"a","detail":"b"}'},
            "cache",
        ),
        ("webhook_endpoint.disabled", {"endpoint": "whe_1", "reason": "gone", "description": ""}, "webhook_endpoint"),
        ("webhook_endpoint.test", {"endpoint": "whe_1"}, "webhook_endpoint"),
    ],
)
def test_every_other_event_names_its_subject(event: str, facts: dict[str, Any], subject: str) -> None:
    payload = body_of(event, facts)

    assert getattr(payload.data, subject) is not None
    assert payload.data.job is None
