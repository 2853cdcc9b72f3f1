"""The events that webhooks tell of."""

from __future__ import annotations

JOB_EVENTS = (
    *("job.created", "job.started", "job.paused", "job.resumed", "job.reopened"),
    *("job.segment.edited", "job.segment.selected", "job.segment.flagged", "job.segment.failed"),
    *("job.artifact.created", "job.succeeded", "job.failed", "job.cancelled", "job.expired", "batch.completed"),
)
"""`job.progress` and `job.segment.completed` come by the thousand and are in the job's event stream only."""

FINAL_JOB_EVENTS = ("job.succeeded", "job.failed", "job.cancelled", "job.expired")
"""What a receiver gets that chose nothing."""

BATCH_EVENTS = ("batch.completed",)
"""A batch sends no other event; its jobs send their own."""

OTHER_EVENTS = (
    "voice.created",
    "voice.deleted",
    "voice.cache.ready",
    "voice.cache.failed",
    "webhook_endpoint.disabled",
    "usage.quota_reached",
)

EVENTS = JOB_EVENTS + BATCH_EVENTS + OTHER_EVENTS

EVERY_EVENT = "*"

TEST_EVENT = "webhook_endpoint.test"
"""Sent on request, whatever the endpoint chose."""
