"""A job's own webhook as its answer shows it. Pure."""

from __future__ import annotations

from api.webhook_schemas import JobReceiver
from storage.webhook_reference import JobWebhook


def job_receiver(webhook: JobWebhook | None) -> JobReceiver | None:
    if webhook is None:
        return None
    return JobReceiver(url=webhook.url or None, endpoint_id=webhook.endpoint or None, events=list(webhook.events))
