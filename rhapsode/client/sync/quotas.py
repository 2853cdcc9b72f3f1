# Made from rhapsode/client/aio/quotas.py by `make generated`; change that file, not this one.
"""`client.quotas`: what a tenant may hold, and what it holds."""

from __future__ import annotations

from typing import Unpack

from rhapsode.client.operators import quota_calls
from rhapsode.client.request_options import QuotaLimits
from rhapsode.client.sync.sending import Send
from rhapsode.contract.operators.quotas import QuotaView


class QuotaSettings:
    """Another tenant's, and changing any, needs a key with the scope `admin`."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def read(self, tenant: str | None = None) -> QuotaView:
        """One's own, or a named tenant's."""
        return self._send(quota_calls.read_quotas(tenant))

    def set(self, tenant: str, **limits: Unpack[QuotaLimits]) -> QuotaView:
        """Limits of its own, in place of those it had; what is not given is as for all tenants."""
        return self._send(quota_calls.set_quotas(tenant, **limits))

    def reset(self, tenant: str) -> None:
        """From now on the tenant has the limits of all."""
        self._send(quota_calls.reset_quotas(tenant))
