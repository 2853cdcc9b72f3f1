"""Which tokens are taken, and what of them says who it is: the settings of OIDC, read."""

from __future__ import annotations

from dataclasses import dataclass

SIGNATURES = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519")
"""Those of a key pair. With a secret of both sides (HS256), or none, the public key would be enough to sign."""


@dataclass(frozen=True, slots=True)
class TokenRules:
    """scope_claim: empty where every token may do what a tenant may. keys_url: empty where the issuer names it."""

    issuer: str
    audience: str
    tenant_claim: str
    scope_claim: str
    algorithms: tuple[str, ...]
    keys_url: str = ""


def parse_algorithms(text: str) -> tuple[str, ...]:
    """Raises `ValueError`."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in SIGNATURES]
    if unknown or not names:
        raise ValueError(f"must be some of {', '.join(SIGNATURES)}, comma-separated")
    return names
