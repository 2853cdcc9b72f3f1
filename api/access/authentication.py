"""Who is asking, and whether they may: a key's tenant and scopes, or the machine's own user where no keys are set.

Without keys the API serves this machine alone: both ends of the connection are loopback, and the Host header names
this machine, so that no page of the web can speak to it through a name of its own (DNS rebinding). Nor may a page of
another origin: a browser sends forms to any address and asks nobody before.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Collection
from dataclasses import dataclass

from starlette.requests import Request

from api.access.caller_key import set_caller_key
from api.access.rate_limits import admit
from api.http.middleware.cors import parse_origins
from api.http.problems.problem import Problem, forbidden, unauthorized
from api.services.container import LOCAL_TENANT, ApiServices
from storage.ids import KeyId, TenantId
from storage.tenants.api_keys import ALL_SCOPES, KEY_PREFIX, TENANT_SCOPES, Scope

LOCAL_NAMES = frozenset({"localhost"})
LOCAL_SUFFIX = ".localhost"

_SCOPE_KEY = "rhapsode.caller"

_SCOPES_BY_PATH: tuple[tuple[str, Scope | None], ...] = (
    ("/metrics", Scope.ADMIN),
    ("/v1/admin", Scope.ADMIN),
    ("/v1/voices", Scope.VOICES),
    ("/v1/voice-caches", Scope.VOICES),
    ("/v1/consents", Scope.VOICES),
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
"""The first prefix that fits; None: any key will do."""


@dataclass(frozen=True, slots=True)
class Caller:
    """key: None for this machine's own user, and for keys that stand in the settings."""

    tenant: TenantId
    scopes: frozenset[Scope]
    key: KeyId | None = None
    is_this_machine: bool = False


async def identify(request: Request, services: ApiServices) -> Caller:
    """Whose request this is, counted once. Raises the `Problem` that it is nobody's, that they may not do this, or that
    it is one too many.
    """
    known = request.scope.get(_SCOPE_KEY)
    if known is not None:
        return known
    caller = await _caller(request, services)
    scope = scope_of(request.url.path)
    if scope is not None and scope not in caller.scopes:
        raise forbidden(f"this API key lacks the scope {scope.value!r}; it has: {_listed(caller.scopes)}")
    request.scope[_SCOPE_KEY] = caller
    set_caller_key(caller.key)
    return caller


def scope_of(path: str) -> Scope | None:
    """What a key needs for this path. Raises `KeyError` for one that the table lacks."""
    for prefix, scope in _SCOPES_BY_PATH:
        if path == prefix or path.startswith(f"{prefix}/"):
            return scope
    raise KeyError(path)


async def _caller(request: Request, services: ApiServices) -> Caller:
    """Counts the request, unless it is of this machine's own user."""
    header = request.headers.get("authorization")
    if header is None:
        if services.settings.api_keys:
            raise unauthorized("send your API key as `Authorization: Bearer KEY`")
        return _own_user(request, services)
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise unauthorized("send your API key as `Authorization: Bearer KEY`")
    digest = hashlib.sha256(secret.strip().encode("latin-1")).hexdigest()
    tenant = services.settings.api_keys.get(digest)
    if tenant is not None:
        scopes = ALL_SCOPES if tenant == services.settings.operator else TENANT_SCOPES
        admit(request, await services.callers.count(TenantId(tenant)))
        return Caller(TenantId(tenant), scopes)
    known = await services.callers.identify(digest)
    if known is None:
        # Programs that were written for OpenAI's API send some key, also where none is asked for. One that looks like
        # ours was given to somebody once, who is not to be taken for this machine's user.
        if not services.settings.api_keys and not secret.strip().startswith(KEY_PREFIX):
            return _own_user(request, services)
        raise unauthorized("this API key is not known, or it is over")
    record, rate = known
    admit(request, rate)
    return Caller(record.tenant, record.scopes, record.id)


def _own_user(request: Request, services: ApiServices) -> Caller:
    """This machine's own user. Raises the `Problem` that it is somebody else."""
    _require_local(request)
    _require_own_page(request, parse_origins(services.settings.cors_origins))
    return Caller(LOCAL_TENANT, ALL_SCOPES, is_this_machine=True)


def is_from_this_machine(request: Request) -> bool:
    """Both ends of the connection are loopback, and the Host header names this machine."""
    try:
        _require_local(request)
    except Problem:
        return False
    return True


def _require_local(request: Request) -> None:
    server, client = request.scope.get("server"), request.scope.get("client")
    # A Unix socket has a path and no port, and its clients have no address.
    ends = [end[0] for end in (server, client) if end is not None and end[1] is not None]
    if not all(_is_loopback(end) for end in ends):
        raise _no_keys("this API has no keys and serves its own machine alone")
    if not _names_this_machine(request.url.hostname or ""):
        raise _no_keys("without keys this API answers to localhost alone, not to another name")


def _require_own_page(request: Request, admitted: Collection[str]) -> None:
    """What is no browser names no origin."""
    origin = request.headers.get("origin")
    # A proxy may speak TLS for this server.
    own = {f"http://{request.url.netloc}", f"https://{request.url.netloc}"}
    if origin is None or origin in own or origin in admitted:
        return
    raise forbidden(
        f"a page of {origin[:100]!r} may not use this API, which has no keys; name it in RHAPSODE_CORS_ORIGINS"
    )


def _no_keys(detail: str) -> Problem:
    return forbidden(f"{detail}; set RHAPSODE_API_KEYS to serve others")


def _names_this_machine(host: str) -> bool:
    return host in LOCAL_NAMES or host.endswith(LOCAL_SUFFIX) or _is_loopback(host)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in LOCAL_NAMES


def _listed(scopes: frozenset[Scope]) -> str:
    return ", ".join(sorted(scopes)) or "none"
