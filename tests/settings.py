"""Settings of a server for one test: another's, with what the test is about changed and checked again."""

from __future__ import annotations

from typing import TypedDict, Unpack

from api.settings import ApiLimits, ApiSettings, MetricsAccess
from storage.runtime.config.settings import StorageSettings

PATIENT = ApiLimits(lateness_s=30.0)
"""An API of a test shares its interpreter, and the machine, with what asks it: none turns a caller away as late."""


class ApiChanges(TypedDict, total=False):
    """Fields as an environment spells them: addresses and secrets are plain text."""

    redis_url: str
    broker_url: str
    store: str
    s3_endpoint_url: str
    webhook_key: str
    webhook_allow_private: str
    oidc_allow_private: str
    quota_jobs: int
    api_keys: dict[str, str]
    rate_limit: str
    metrics_access: MetricsAccess
    cors_origins: str
    public_url: str
    oidc_issuer: str
    oidc_audience: str
    oidc_scope_claim: str


def api_settings_of(others: StorageSettings, **changes: Unpack[ApiChanges]) -> ApiSettings:
    """An API's settings on the same stores. Raises pydantic's `ValidationError` like a start with such settings."""
    return ApiSettings.model_validate(others.model_dump() | changes)
