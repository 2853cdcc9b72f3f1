"""`client.keys`: who may use the server. For operators."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rhapsode.client.aio.sending import AsyncSend
from rhapsode.client.operators import key_calls
from rhapsode.client.operators.key_calls import DEFAULT_SCOPES, CreatedApiKey
from rhapsode.contract.operators.keys import ApiKeyView


class AsyncKeys:
    """Needs a key with the scope `admin`, or a server without keys on this machine."""

    def __init__(self, send: AsyncSend) -> None:
        self._send = send

    async def create(
        self,
        tenant: str,
        name: str,
        *,
        scopes: Sequence[str] = DEFAULT_SCOPES,
        expires_at: datetime | None = None,
    ) -> CreatedApiKey:
        """A key for a tenant, who need not exist before. Its `secret` is in this answer and nowhere else."""
        return await self._send(key_calls.create_key(tenant, name, scopes, expires_at))

    async def list(self, tenant: str | None = None) -> tuple[ApiKeyView, ...]:
        """The oldest first; those that are over too."""
        return await self._send(key_calls.list_keys(tenant))

    async def revoke(self, key: ApiKeyView | str) -> None:
        """From now on it opens nothing."""
        await self._send(key_calls.revoke_key(key if isinstance(key, str) else key.id))
