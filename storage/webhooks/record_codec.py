"""Endpoints, deliveries and attempts between their two forms: values here, strings in Redis. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import TypeAdapter

from rhapsode.contract.webhooks import DeliveryState, DisabledReason, EndpointState
from storage.ids import DeliveryId, EndpointId, JobId, Target, TenantId
from storage.webhooks.records import (
    DeliveryAttempt,
    DeliveryRecord,
    EndpointRecord,
    EndpointUpdate,
    NewEndpoint,
    SealedSecret,
)

_METADATA = TypeAdapter(dict[str, str])
_SECRETS = TypeAdapter(tuple[SealedSecret, ...])
_ATTEMPT = TypeAdapter(DeliveryAttempt)


def created_fields(endpoint: NewEndpoint) -> dict[str, str]:
    """What the creation alone decides; the function adds the rest."""
    return {
        "url": endpoint.url,
        "api_url": endpoint.api_url,
        "description": endpoint.description,
        "metadata": _METADATA.dump_json(endpoint.metadata).decode(),
    }


def changed_fields(changes: EndpointUpdate) -> dict[str, str]:
    fields = {
        "url": changes.url,
        "events": None if changes.events is None else encode_events(changes.events),
        "description": changes.description,
        "metadata": None if changes.metadata is None else _METADATA.dump_json(changes.metadata).decode(),
    }
    return {name: value for name, value in fields.items() if value is not None}


def encode_events(events: Sequence[str]) -> str:
    return ",".join(events)


def encode_secrets(secrets: Sequence[SealedSecret]) -> str:
    return _SECRETS.dump_json(tuple(secrets), exclude_none=True).decode()


def decode_secrets(text: str) -> tuple[SealedSecret, ...]:
    """The current one first."""
    return _SECRETS.validate_json(text)


def live_secrets(secrets: Sequence[SealedSecret], now_ms: int) -> tuple[SealedSecret, ...]:
    """Those that still sign."""
    return tuple(secret for secret in secrets if secret.until_ms is None or secret.until_ms > now_ms)


def decode_endpoint(fields: Mapping[str, str], health: Sequence[str | None], waiting: int) -> EndpointRecord:
    """health: `failing_since_ms` of the endpoint's target. waiting: deliveries that wait for it."""
    return EndpointRecord(
        id=EndpointId(fields["id"]),
        tenant=TenantId(fields["tenant"]),
        url=fields["url"],
        events=tuple(fields["events"].split(",")),
        state=EndpointState(fields["state"]),
        disabled_reason=DisabledReason(fields["disabled_reason"]) if fields.get("disabled_reason") else None,
        secrets=_SECRETS.validate_json(fields["secrets"]),
        api_url=fields["api_url"],
        description=fields["description"],
        metadata=_METADATA.validate_json(fields["metadata"]),
        created_at_ms=int(fields["created_at_ms"]),
        updated_at_ms=int(fields["updated_at_ms"]),
        failing_since_ms=int(health[0]) if health[0] else None,
        waiting=waiting,
    )


def decode_delivery(fields: Mapping[str, str]) -> DeliveryRecord:
    return DeliveryRecord(
        id=DeliveryId(fields["id"]),
        tenant=TenantId(fields["tenant"]),
        target=Target(fields["target"]),
        endpoint=EndpointId(fields["endpoint"]) if fields["endpoint"] else None,
        url=fields["url"],
        api_url=fields["api_url"],
        type=fields["type"],
        job=JobId(fields["job"]) if fields["job"] else None,
        state=DeliveryState(fields["state"]),
        created_at_ms=int(fields["created_at_ms"]),
        next_attempt_at_ms=_optional_integer(fields, "next_at_ms"),
        ended_at_ms=_optional_integer(fields, "ended_at_ms"),
        tries=int(fields["tries"]),
        attempts=int(fields["attempts"]),
        reason=fields.get("reason", ""),
        facts=fields.get("facts"),
        body=fields.get("body"),
        trace=fields.get("trace", ""),
    )


def encode_attempt(attempt: DeliveryAttempt) -> str:
    return _ATTEMPT.dump_json(attempt).decode()


def decode_attempt(text: str) -> DeliveryAttempt:
    return _ATTEMPT.validate_json(text)


def _optional_integer(fields: Mapping[str, str], name: str) -> int | None:
    return int(fields[name]) if fields.get(name) else None
