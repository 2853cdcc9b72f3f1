"""Records of webhooks as the API shows them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime

from api.http.times import moment, optional_moment
from rhapsode.contract import webhooks as schemas
from rhapsode.contract.jobs.webhook import JobReceiver
from storage.jobs.webhook_target import WebhookTarget
from storage.webhooks.payloads import compose
from storage.webhooks.record_codec import live_secrets
from storage.webhooks.records import DeliveryAttempt, DeliveryRecord, EndpointRecord, SealedSecret


def shown_endpoint(record: EndpointRecord) -> schemas.WebhookEndpoint:
    return schemas.WebhookEndpoint(
        id=record.id,
        url=record.url,
        events=tuple(record.events),
        description=record.description,
        metadata=record.metadata,
        state=record.state,
        disabled_reason=record.disabled_reason,
        failing_since=optional_moment(record.failing_since_ms),
        waiting=record.waiting,
        old_secrets_expire_at=last_expiry(record.secrets),
        created_at=moment(record.created_at_ms),
        updated_at=moment(record.updated_at_ms),
    )


def last_expiry(secrets: Sequence[SealedSecret]) -> datetime | None:
    """Until when one that was replaced signs, too; None once the current one is alone."""
    live = live_secrets(secrets, round(time.time() * 1000))
    return optional_moment(max((secret.until_ms for secret in live if secret.until_ms), default=None))


def shown_delivery(record: DeliveryRecord) -> schemas.WebhookDelivery:
    return schemas.WebhookDelivery(
        id=record.id,
        type=record.type,
        state=record.state,
        endpoint_id=record.endpoint,
        url=record.url or None,
        job=record.job,
        tries=record.tries,
        attempts=record.attempts,
        reason=record.reason,
        created_at=moment(record.created_at_ms),
        next_attempt_at=optional_moment(record.next_attempt_at_ms),
        ended_at=optional_moment(record.ended_at_ms),
    )


def shown_detail(
    record: DeliveryRecord, attempts: Sequence[DeliveryAttempt], api_url: str
) -> schemas.WebhookDeliveryDetail:
    """api_url: of the endpoint; a delivery to a job's URL has its own."""
    return schemas.WebhookDeliveryDetail(
        **shown_delivery(record).model_dump(),
        payload=_payload(record, api_url),
        log=tuple(_attempt(each) for each in attempts),
    )


def _payload(record: DeliveryRecord, api_url: str) -> str:
    if record.body is not None:
        return record.body
    # Nothing was sent yet: as it will be made.
    return compose(record.type, record.created_at_ms, record.facts or "{}", record.api_url or api_url)


def _attempt(attempt: DeliveryAttempt) -> schemas.WebhookAttempt:
    return schemas.WebhookAttempt(
        at=moment(attempt.at_ms),
        duration_s=attempt.duration_ms / 1000,
        status=attempt.status,
        reason=attempt.reason,
        excerpt=attempt.excerpt,
    )


def job_receiver(webhook: WebhookTarget | None) -> JobReceiver | None:
    if webhook is None:
        return None
    return JobReceiver(url=webhook.url or None, endpoint_id=webhook.endpoint or None, events=tuple(webhook.events))
