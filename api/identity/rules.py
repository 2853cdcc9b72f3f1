"""Which tokens are accepted, and which claims name the caller: the settings of OIDC, read."""

from __future__ import annotations

from dataclasses import dataclass

SIGNATURES = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519")
"""Those of a key pair. With a secret of both sides (HS256), or none, the public key would be enough to sign."""


@dataclass(frozen=True, slots=True)
class TokenRules:
    """scope_claim: empty where every token may do what a tenant may."""

    issuer: str
    audience: str
    tenant_claim: str
    scope_claim: str
