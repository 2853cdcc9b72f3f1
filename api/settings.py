"""What the web tier adds to the shared settings."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated, Self

from pydantic import AfterValidator, Field, field_validator, model_validator
from pydantic_core import from_json

from api.http.middleware.cors import EVERY_ORIGIN, parse_origins
from api.identity.rules import TokenRules
from rhapsode.contract.operators.keys import TENANT_NAME
from storage.narration.aliases import Aliases
from storage.runtime.config.settings import StorageSettings, check_address
from storage.runtime.config.webhook_options import checked_by, parse_networks
from storage.tenants.rate_limits import parse_limit

MEBIBYTE = 1024 * 1024

MAX_DOCUMENT_BYTES = 64 * MEBIBYTE
"""Of an uploaded document that a job narrates."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


class MetricsAccess(enum.StrEnum):
    ADMIN = "admin"
    LOOPBACK = "loopback"
    OPEN = "open"


class ConsentBy(enum.StrEnum):
    PER_REQUEST = "per-request"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class ApiLimits:
    """What one process accepts. The defaults serve all systems; tests choose others.

    connections: more are answered 503. request_timeout_s: for a request's head. Its body has as long, and more time
    for each byte, at 500 bytes a second. body_bytes: of a request that is no upload. lateness_s: mean delay of the
    event loop; beyond it no live stream and no WebSocket is accepted.
    """

    connections: int = 4096
    request_timeout_s: float = 20.0
    body_bytes: int = 16 * MEBIBYTE
    lateness_s: float = 0.25


LIMITS = ApiLimits()


class ApiSettings(StorageSettings):
    """The API's settings.

    api_keys: sha256 of a key (hex) -> tenant, as a JSON object. Empty: no key is asked for, all is tenant `local`.
    operator: the tenant whose keys, if they stand here, may do what operators do: make other keys first of all.
    rate_limit: requests of one tenant, such as 600/minute; this machine's own user is not counted.
    max_upload_bytes: a file of `/v1/uploads` is cut off there.
    max_text_chars: code points of one job's text.
    metrics_access: who may read `/metrics`: a key with the scope admin, also this machine without one, or every caller.
    live_drain_s: how long live streams may go on after the process received SIGTERM.
    cors_origins: origins whose pages may speak to this API, comma-separated; empty: none. `*`, every one, needs keys.
    aliases: names that stand for models and voices at /v1/audio/, as a JSON object with `models` and `voices`, each
        name -> name of this server; OpenAI's own stand for what this server has where they are not here.
    consent: who states that cloned speakers agree: each request, or the operator where a request says nothing.
    strict_speech: whether /v1/audio/speech refuses what is unknown or beyond the model, in place of `X-Ignored`.
    public_url: how clients reach this API, for the links in answers; unset: as the request's Host says.
    oidc_issuer: the issuer of tokens that are valid beside keys, as its tokens name it; empty: none.
    oidc_audience: as tokens for this API name it.
    oidc_allow_private: networks of one's own where the issuer and its keys may be, also by plain http; empty: the
        internet alone, by https.
    oidc_tenant_claim: the claim that names the tenant.
    oidc_scope_claim: the claim that names what the token may do; empty: what a key may that names no scopes.
    """

    api_keys: dict[str, str] = Field(default_factory=dict[str, str], repr=False)
    operator: str = Field(default="operator", pattern=f"^{TENANT_NAME.pattern}$")
    rate_limit: Annotated[str, AfterValidator(parse_limit)] = "3000/minute"
    max_upload_bytes: int = Field(default=256 * MEBIBYTE, ge=1024)
    max_text_chars: int = Field(default=10_000_000, ge=1)
    metrics_access: MetricsAccess = MetricsAccess.ADMIN
    live_drain_s: float = Field(default=15.0, ge=0, le=3600)
    cors_origins: Annotated[str, checked_by(parse_origins)] = ""
    aliases: Aliases = Aliases()
    consent: ConsentBy = ConsentBy.PER_REQUEST
    strict_speech: bool = False
    public_url: str | None = None
    oidc_issuer: str = ""
    oidc_audience: str = ""
    oidc_allow_private: Annotated[str, checked_by(parse_networks)] = ""
    oidc_tenant_claim: str = Field(default="tenant", min_length=1)
    oidc_scope_claim: str = ""

    @field_validator("api_keys", "aliases", mode="before")
    @classmethod
    def _from_json(cls, value: object) -> object:
        try:
            read: object = from_json(value) if isinstance(value, str) else value
        except ValueError:
            read = None
        if not isinstance(read, Mapping | Aliases):
            raise ValueError("must be a JSON object")
        return read

    @property
    def knows_callers(self) -> bool:
        """Whether requests have to say whose they are; else this API serves its own machine alone."""
        return bool(self.api_keys or self.oidc_issuer)

    @property
    def token_rules(self) -> TokenRules | None:
        """None where no tokens are taken."""
        if not self.oidc_issuer:
            return None
        return TokenRules(self.oidc_issuer, self.oidc_audience, self.oidc_tenant_claim, self.oidc_scope_claim)

    @model_validator(mode="after")
    def _no_keys_for_no_stranger(self) -> Self:
        if EVERY_ORIGIN in parse_origins(self.cors_origins) and not self.knows_callers:
            raise ValueError("RHAPSODE_CORS_ORIGINS=* needs RHAPSODE_API_KEYS: any page could use this API otherwise")
        return self

    @field_validator("oidc_issuer")
    @classmethod
    def _issuers_address(cls, value: str) -> str:
        return value and check_address(value)

    @model_validator(mode="after")
    def _tokens_can_be_read(self) -> Self:
        """http:// is refused by the client that fetches the keys, unless the address is in a network of one's own."""
        if not self.oidc_issuer:
            return self
        if not self.oidc_audience:
            raise ValueError("RHAPSODE_OIDC_ISSUER needs RHAPSODE_OIDC_AUDIENCE: its tokens for others would do, too")
        if find_spec("joserfc") is None:
            raise ValueError("RHAPSODE_OIDC_ISSUER needs a package that is not installed: pip install 'rhapsode[oidc]'")
        return self

    @field_validator("api_keys")
    @classmethod
    def _digests_and_tenants(cls, value: dict[str, str]) -> dict[str, str]:
        for digest, tenant in value.items():
            if not _DIGEST.fullmatch(digest):
                raise ValueError("every key must be a sha256 in lower-case hex")
            if not TENANT_NAME.fullmatch(tenant):
                raise ValueError(f"{tenant!r} is not a tenant name: up to 63 of a-z 0-9 _ -")
        return value

    @field_validator("public_url")
    @classmethod
    def _absolute(cls, value: str | None) -> str | None:
        return check_address(value).rstrip("/") if value is not None else None
