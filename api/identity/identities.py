"""Who a token speaks for, as the API asks it. Loads nothing of what reads tokens, which few servers have installed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from api.identity.rules import TokenRules
from storage.ids import TenantId
from storage.runtime.egress.client import SafeHttp
from storage.tenants.api_keys import Scope


@dataclass(frozen=True, slots=True)
class Identity:
    tenant: TenantId
    scopes: frozenset[Scope]


class Identities(Protocol):
    """For one event loop."""

    async def identify(self, token: bytes) -> Identity:
        """Raises an `IdentityError`."""
        ...


def is_token(secret: bytes) -> bool:
    """Whether this can be one: three parts, of which the first is a JSON object in base64url."""
    return secret.startswith(b"ey") and secret.count(b".") == 2


def open_identities(rules: TokenRules | None, http: SafeHttp) -> Identities | None:
    """None where no tokens are taken. Asks the issuer nothing yet."""
    if rules is None:
        return None
    from api.identity.signing_keys import SigningKeys
    from api.identity.tokens import TokenReader

    return TokenReader(rules, SigningKeys(rules, http))
