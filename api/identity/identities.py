"""Identities of tokens. It loads the reader of tokens only for servers with an issuer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from api.identity.rules import TokenRules
from storage.runtime.egress.client import SafeHttp

if TYPE_CHECKING:
    from api.identity.tokens import TokenReader


def is_token(secret: bytes) -> bool:
    """Whether this can be a token: three parts, and the first is a JSON object in base64url."""
    return secret.startswith(b"ey") and secret.count(b".") == 2


def open_identities(rules: TokenRules | None, http: SafeHttp) -> TokenReader | None:
    """None without an issuer. It sends no request yet."""
    if rules is None:
        return None
    from api.identity.signing_keys import SigningKeys
    from api.identity.tokens import TokenReader

    return TokenReader(rules, SigningKeys(rules, http))
