"""Who a token of OpenID Connect speaks for: signed by the issuer, for this API, now; and whose tenant it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joserfc import jws, jwt
from joserfc.errors import ExpiredTokenError, JoseError

from api.identity.errors import TokenRefused, TokenWithoutRights
from api.identity.rules import SIGNATURES, TokenRules
from api.identity.signing_keys import PublicKey, SigningKeys
from rhapsode.contract.operators.keys import TENANT_NAME
from storage.ids import TenantId
from storage.tenants.api_keys import TENANT_SCOPES, Scope

MAX_BYTES = 16 * 1024
CLOCK_SKEW_S = 60
SCOPE_PREFIX = "rhapsode:"
TYPES = frozenset({"JWT", "AT+JWT", "APPLICATION/AT+JWT"})
"""Of access tokens (RFC 9068) and ID tokens; a token for another purpose, as for logout, is none of them."""


class TokenReader:
    """For one event loop."""

    def __init__(self, rules: TokenRules, keys: SigningKeys) -> None:
        self._rules = rules
        self._keys = keys
        self._claims = jwt.JWTClaimsRegistry(
            leeway=CLOCK_SKEW_S,
            iss={"essential": True, "value": rules.issuer},
            aud={"essential": True, "value": rules.audience},
            exp={"essential": True},
        )

    async def identify(self, token: bytes) -> tuple[TenantId, frozenset[Scope]]:
        """Whose it is, and what it may do. Raises an `IdentityError`."""
        claims = await self._verified(token)
        return self._tenant(claims), self._scopes(claims)

    async def _verified(self, token: bytes) -> Mapping[str, Any]:
        header = _header(token)
        algorithm = header.get("alg")
        if algorithm not in SIGNATURES:
            taken = ", ".join(SIGNATURES)
            raise TokenRefused(f"it is signed with {str(algorithm)[:32]!r}, and {taken} is taken")
        if str(header.get("typ", "JWT")).upper() not in TYPES:
            raise TokenRefused(f"it is of the type {str(header['typ'])[:32]!r}, which is for another purpose")
        key = await self._key(header)
        try:
            decoded = jwt.decode(token.decode("ascii"), key, algorithms=list(SIGNATURES))
            self._claims.validate(decoded.claims)
        except ExpiredTokenError as error:
            raise TokenRefused("its time is over") from error
        except (JoseError, ValueError) as error:
            raise TokenRefused(f"it is not valid here ({error})") from error
        return decoded.claims

    async def _key(self, header: Mapping[str, Any]) -> PublicKey:
        name = header.get("kid")
        if name is not None and not isinstance(name, str):
            raise TokenRefused("its `kid` is no text")
        key = await self._keys.find(name)
        if key is None:
            raise TokenRefused("it is signed with no key that its issuer publishes")
        # A key that is published for one algorithm verifies no other.
        if key.alg not in (None, header["alg"]):
            raise TokenRefused(f"it is signed with {header['alg']!r}, and its key is for {key.alg!r}")
        return key

    def _tenant(self, claims: Mapping[str, Any]) -> TenantId:
        name = claims.get(self._rules.tenant_claim)
        if not isinstance(name, str) or not TENANT_NAME.fullmatch(name):
            raise TokenWithoutRights(
                f"this token has no tenant: its claim {self._rules.tenant_claim!r} must be up to 63 of a-z 0-9 _ -"
            )
        return TenantId(name)

    def _scopes(self, claims: Mapping[str, Any]) -> frozenset[Scope]:
        """Of names that are no scope here nothing follows: issuers have others."""
        if not self._rules.scope_claim:
            return TENANT_SCOPES
        said = claims.get(self._rules.scope_claim)
        names = said.split() if isinstance(said, str) else said if isinstance(said, list) else []
        wanted = {str(name).removeprefix(SCOPE_PREFIX) for name in names}
        return frozenset(scope for scope in Scope if scope.value in wanted)


def _header(token: bytes) -> Mapping[str, Any]:
    """Of an unverified token."""
    if len(token) > MAX_BYTES:
        raise TokenRefused(f"it is longer than {MAX_BYTES:,} bytes")
    try:
        return jws.extract_compact(token).headers()
    except (JoseError, ValueError, RecursionError) as error:
        raise TokenRefused("it cannot be read") from error
