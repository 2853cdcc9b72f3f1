"""Endpoints, deliveries and attempts between their two forms: values here, strings in Redis. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import TypeAdapter
from pydantic_core import from_json

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
_ENDPOINT = TypeAdapter(EndpointRecord)
_DELIVERY = TypeAdapter(DeliveryRecord)


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
    told = {
        "events": fields["events"].split(","),
        "disabled_reason": fields.get("disabled_reason") or None,
        "secrets": from_json(fields["secrets"]),
        "metadata": from_json(fields["metadata"]),
        "failing_since_ms": health[0] or None,
        "waiting": waiting,
    }
    return _ENDPOINT.validate_python({**fields, **told})


def decode_delivery(fields: Mapping[str, str]) -> DeliveryRecord:
    unset = {"next_attempt_at_ms": fields.get("next_at_ms") or None, "ended_at_ms": fields.get("ended_at_ms") or None}
    of = {"endpoint": fields["endpoint"] or None, "job": fields["job"] or None}
    return _DELIVERY.validate_python({**fields, **unset, **of})


def encode_attempt(attempt: DeliveryAttempt) -> str:
    return _ATTEMPT.dump_json(attempt).decode()


def decode_attempt(text: str) -> DeliveryAttempt:
    return _ATTEMPT.validate_json(text)
