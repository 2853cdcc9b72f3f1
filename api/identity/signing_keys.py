"""The public keys of the issuer (JWKS), read through the client that reaches no private network.

An unknown key causes a request at once, at most twice a minute for all callers. The keys stay valid for a day if the
issuer does not answer. A task renews them every ten minutes, and requests do not wait for it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from anyio.to_thread import run_sync
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, JWKRegistry, OKPKey, RSAKey

from api.identity.errors import KeysUnavailable
from api.identity.rules import TokenRules
from storage.runtime.egress.client import SafeHttp
from storage.runtime.egress.errors import SafeHttpError

FRESH_S = 600.0
GOOD_S = 86_400.0
PAUSE_S = 30.0
"""The shortest time between two requests."""

MAX_BYTES = 512 * 1024
DISCOVERY = "/.well-known/openid-configuration"

PublicKey = RSAKey | ECKey | OKPKey

_log = structlog.get_logger()


class SigningKeys:
    """For one event loop."""

    def __init__(self, rules: TokenRules, reader: SafeHttp, clock: Callable[[], float] = time.monotonic) -> None:
        self._rules = rules
        self._reader = reader
        self._clock = clock
        self._keys: Mapping[str, PublicKey] = {}
        self._read_at: float | None = None
        self._tried_at: float | None = None
        self._reading: asyncio.Task[None] | None = None

    async def find(self, key_id: str | None) -> PublicKey | None:
        """None for a key that the issuer does not publish. Raises `KeysUnavailable` without an answer of the issuer."""
        known = self._named(key_id)
        is_old = self._age_s() > FRESH_S
        reading = self._begin_reading() if known is None or is_old else None
        if known is not None and self._age_s() <= GOOD_S:
            return known
        if reading is not None:
            # One request for all callers, also if some of them leave.
            await asyncio.shield(reading)
        if self._age_s() > GOOD_S:
            raise KeysUnavailable("the issuer of tokens does not publish its keys at the moment")
        return self._named(key_id)

    def _named(self, key_id: str | None) -> PublicKey | None:
        """Without a name, the only key."""
        if key_id is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(key_id)

    def _age_s(self) -> float:
        return float("inf") if self._read_at is None else self._clock() - self._read_at

    def _begin_reading(self) -> asyncio.Task[None] | None:
        """The running task, or a new one; None soon after the last request."""
        if self._reading is not None and not self._reading.done():
            return self._reading
        if self._tried_at is not None and self._clock() - self._tried_at < PAUSE_S:
            return None
        self._tried_at = self._clock()
        self._reading = asyncio.get_running_loop().create_task(self._read())
        return self._reading

    async def _read(self) -> None:
        try:
            self._keys = await run_sync(self._published)
        except (SafeHttpError, ValueError) as error:
            _log.warning("oidc_keys_unavailable", issuer=self._rules.issuer, error=str(error))
        except Exception:  # noqa: BLE001 - the line below logs it, by structlog
            # If no request awaits this task, its error would be lost.
            _log.exception("oidc_keys_unavailable", issuer=self._rules.issuer)
        else:
            self._read_at = self._clock()
            _log.info("oidc_keys_read", issuer=self._rules.issuer, keys=sorted(self._keys))

    def _published(self) -> Mapping[str, PublicKey]:
        """In a thread. Raises `SafeHttpError` or `ValueError`."""
        document = self._document(self._discovered())
        keys = document.get("keys")
        if not isinstance(keys, list):
            raise ValueError("the document of keys has no list `keys`")
        return dict(filter(None, map(_signing_key, keys)))

    def _discovered(self) -> str:
        document = self._document(f"{self._rules.issuer.rstrip('/')}{DISCOVERY}")
        if document.get("issuer") != self._rules.issuer:
            raise ValueError(f"{DISCOVERY} is of another issuer, {str(document.get('issuer'))[:200]!r}")
        address = document.get("jwks_uri")
        if not isinstance(address, str):
            raise ValueError(f"{DISCOVERY} names no jwks_uri")
        return address

    def _document(self, url: str) -> dict[str, Any]:
        try:
            document = json.loads(self._reader.get(url, MAX_BYTES))
        except RecursionError as error:
            raise ValueError(f"{url} is no document") from error
        if not isinstance(document, dict):
            raise ValueError(f"{url} is no JSON object")
        return document


def _signing_key(entry: object) -> tuple[str, PublicKey] | None:
    """With its name; None for a key that signs no tokens, such as a shared secret."""
    if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
        return None
    try:
        key = JWKRegistry.import_key(entry)
    except (JoseError, ValueError, TypeError):
        # An issuer may also publish unknown kinds of keys.
        return None
    name = entry.get("kid", "")
    return (name, key) if isinstance(key, RSAKey | ECKey | OKPKey) and isinstance(name, str) else None
