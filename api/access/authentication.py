"""The tenant and scopes of a request: by its API key, by a token of the issuer, or of this machine's user.

Without keys the API serves this machine only: both ends of the connection are loopback, and the Host header names this
machine. This prevents DNS rebinding. It refuses pages of other origins, because a browser sends forms to any address
without a preflight request.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from api.access.caller_key import set_caller_key
from api.access.rate_limits import admit
from api.http.middleware.cors import EVERY_ORIGIN, parse_origins
from api.http.own_address import address_of
from api.http.problems.problem import HttpProblem, problem, unauthorized
from api.identity.errors import KeysUnavailable, TokenRefused, TokenWithoutRights
from api.identity.identities import is_token
from api.services.container import LOCAL_TENANT, ApiServices
from rhapsode.contract.speech_socket import KEY_SUBPROTOCOL
from storage.ids import KeyId, TenantId
from storage.tenants.api_keys import ALL_SCOPES, KEY_PREFIX, TENANT_SCOPES, Scope

if TYPE_CHECKING:
    from api.identity.tokens import TokenReader

LOCAL_NAMES = frozenset({"localhost"})
LOCAL_SUFFIX = ".localhost"

_SCOPE_KEY = "rhapsode.caller"

_SCOPES_BY_PATH: tuple[tuple[str, Scope | None], ...] = (
    ("/metrics", Scope.ADMIN),
    ("/v1/admin", Scope.ADMIN),
    ("/v1/voices", Scope.VOICES),
    ("/v1/voice-caches", Scope.VOICES),
    ("/v1/audio/voices", Scope.VOICES),
    ("/v1/webhook-endpoints", Scope.WEBHOOKS),
    ("/v1/webhook-deliveries", Scope.WEBHOOKS),
    ("/v1/webhook-secret", Scope.WEBHOOKS),
    ("/v1/models", None),
    ("/v1/capabilities", None),
    ("/v1/uploads", None),
    ("/v1/usage", None),
    ("/v1/quotas", None),
    ("/v1/audio", Scope.SYNTH),
    ("/v1/jobs", Scope.SYNTH),
    ("/v1/batches", Scope.SYNTH),
    ("/v1/pronunciation-dictionaries", Scope.SYNTH),
)
"""The first matching prefix counts. None: any key is enough."""


@dataclass(frozen=True, slots=True)
class Caller:
    """key: None for this machine's user, and for keys in the settings."""

    tenant: TenantId
    scopes: frozenset[Scope]
    key: KeyId | None = None


async def identify(request: HTTPConnection, services: ApiServices) -> Caller:
    """The caller, counted once. Raises an `HttpProblem`: no valid key, not allowed, or too many requests."""
    known = request.scope.get(_SCOPE_KEY)
    if known is not None:
        return known
    if request.scope["type"] == "websocket":
        _require_known_origin(request, services)
    if request.scope["path"].endswith("\n"):
        # The framework's patterns ignore a line break at the end of a path.
        raise problem("not_found", "there is nothing at this address")
    caller = await _caller(request, services)
    scope = scope_of(request.scope["path"])
    if scope is not None and scope not in caller.scopes:
        raise problem("forbidden", f"this API key lacks the scope {scope.value!r}; it has: {_listed(caller.scopes)}")
    request.scope[_SCOPE_KEY] = caller
    set_caller_key(caller.key)
    return caller


async def identify_again(request: HTTPConnection, services: ApiServices) -> Caller:
    """Like `identify`, for a later request on the same connection: the key may have expired."""
    request.scope.pop(_SCOPE_KEY, None)
    return await identify(request, services)


def scope_of(path: str) -> Scope | None:
    """The scope that this path requires. Raises `KeyError` for an unknown path."""
    for prefix, scope in _SCOPES_BY_PATH:
        if path == prefix or path.startswith(f"{prefix}/"):
            return scope
    raise KeyError(path)


async def _caller(request: HTTPConnection, services: ApiServices) -> Caller:
    """It counts the request, unless it is from this machine's user."""
    secret = _secret(request)
    if secret is None:
        if services.settings.knows_callers:
            raise unauthorized("send your API key as `Authorization: Bearer KEY`")
        return _own_user(request, services)
    if services.access.identities is not None and is_token(secret):
        return await _caller_of_token(request, services, services.access.identities, secret)
    digest = hashlib.sha256(secret).hexdigest()
    tenant = services.settings.api_keys.get(digest)
    if tenant is not None:
        scopes = ALL_SCOPES if tenant == services.settings.operator else TENANT_SCOPES
        admit(request, await services.access.callers.count(TenantId(tenant)))
        return Caller(TenantId(tenant), scopes)
    known = await services.access.callers.identify(digest)
    if known is None:
        # Clients of OpenAI's API always send a key, also to a server without keys. A key of our form is a revoked or
        # expired one, and its user is not this machine's user.
        if not services.settings.knows_callers and not secret.startswith(KEY_PREFIX.encode()):
            return _own_user(request, services)
        raise unauthorized("this API key is unknown, or it has expired")
    record, rate = known
    admit(request, rate)
    return Caller(record.tenant, record.scopes, record.id)


async def _caller_of_token(request: HTTPConnection, services: ApiServices, reader: TokenReader, token: bytes) -> Caller:
    """Raises the `HttpProblem` of a refused token."""
    try:
        tenant, scopes = await reader.identify(token)
    except TokenRefused as error:
        raise unauthorized(f"this token is refused: {error}") from error
    except TokenWithoutRights as error:
        raise problem("forbidden", str(error)) from error
    except KeysUnavailable as error:
        raise problem("identity_unavailable", str(error), retry_after_s=30) from error
    admit(request, await services.access.callers.count(tenant))
    return Caller(tenant, scopes)


def _secret(request: HTTPConnection) -> bytes | None:
    """The API key, or None. Raises the `HttpProblem` of a malformed header or subprotocol.

    SillyTavern and others send an empty `Bearer` without a key.
    """
    header = request.headers.get("authorization")
    if header is None:
        return _secret_of_page(request)
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer":
        raise unauthorized("send your API key as `Authorization: Bearer KEY`")
    return secret.strip().encode("latin-1") or None


def _secret_of_page(request: HTTPConnection) -> bytes | None:
    """The API key in a subprotocol, because a page cannot send a header with a WebSocket."""
    offered: list[str] = request.scope.get("subprotocols", [])
    coded = next((name for name in offered if name.startswith(KEY_SUBPROTOCOL)), None)
    if coded is None:
        return None
    text = coded.removeprefix(KEY_SUBPROTOCOL)
    try:
        secret = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        secret = b""
    if not secret:
        raise unauthorized(f"{KEY_SUBPROTOCOL!r} must be followed by your API key in base64url")
    return secret


def _own_user(request: HTTPConnection, services: ApiServices) -> Caller:
    """The user of this machine. Raises an `HttpProblem` for any other caller."""
    _require_local(request)
    _require_own_page(request, parse_origins(services.settings.cors_origins))
    return Caller(LOCAL_TENANT, ALL_SCOPES)


def is_from_this_machine(request: HTTPConnection) -> bool:
    """Both ends of the connection are loopback, and the Host header names this machine."""
    try:
        _require_local(request)
    except HttpProblem:
        return False
    return True


def _require_local(request: HTTPConnection) -> None:
    server, client = request.scope.get("server"), request.scope.get("client")
    # A Unix socket has a path and no port, and its clients have no address.
    ends = [end[0] for end in (server, client) if end is not None and end[1] is not None]
    if not all(_is_loopback(end) for end in ends):
        raise _no_keys("this API has no keys and serves its own machine alone")
    host = address_of(request).hostname
    if not (host.endswith(LOCAL_SUFFIX) or _is_loopback(host)):
        raise _no_keys("without keys this API answers to localhost alone, not to another name")


def _require_own_page(request: HTTPConnection, admitted: Collection[str]) -> None:
    """A client that is not a browser sends neither Origin nor Sec-Fetch-Site."""
    origin = request.headers.get("origin")
    if origin is None and request.headers.get("sec-fetch-site") == "cross-site":
        raise problem("forbidden", "a page of another site may not use this API, which has no keys")
    if origin is not None and not _is_own_page(request, admitted):
        raise problem(
            "forbidden",
            f"a page of {origin[:100]!r} may not use this API, which has no keys; name it in RHAPSODE_CORS_ORIGINS",
        )


def _require_known_origin(request: HTTPConnection, services: ApiServices) -> None:
    """A browser lets any page open a WebSocket and read from it, with a key or without."""
    admitted = parse_origins(services.settings.cors_origins)
    public = urlsplit(services.settings.public_url or "")
    if EVERY_ORIGIN in admitted or _is_own_page(request, (*admitted, f"{public.scheme}://{public.netloc}")):
        return
    origin = request.headers["origin"]
    raise problem("forbidden", f"a page of {origin[:100]!r} may not use this API; name it in RHAPSODE_CORS_ORIGINS")


def _is_own_page(request: HTTPConnection, admitted: Collection[str]) -> bool:
    origin = request.headers.get("origin")
    if origin is None or origin in admitted:
        return True
    # A proxy may terminate TLS for this server.
    netloc = address_of(request).netloc
    return origin in {f"http://{netloc}", f"https://{netloc}"}


def _no_keys(detail: str) -> HttpProblem:
    return problem("forbidden", f"{detail}; set RHAPSODE_API_KEYS to serve others")


@lru_cache(maxsize=64)
def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in LOCAL_NAMES


def _listed(scopes: frozenset[Scope]) -> str:
    return ", ".join(sorted(scopes)) or "none"
