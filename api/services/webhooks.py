"""What routes about webhooks need: the store, the key that seals secrets, and the client that checks URLs."""

from __future__ import annotations

from dataclasses import dataclass

from api.http.problems.problem import FieldViolation, HttpProblem, invalid, problem
from api.settings import ApiSettings
from storage.ids import TenantId
from storage.runtime.egress.client import SafeHttp
from storage.runtime.egress.errors import SafeHttpError
from storage.webhooks.deliveries import WebhookQueue
from storage.webhooks.http import safe_client
from storage.webhooks.sealed_secrets import SecretSealer, SecretUnreadable, new_secret
from storage.webhooks.store import WebhookStore


@dataclass(frozen=True, slots=True)
class WebhookServices:
    """`queue` only tells which tickets are due. sealer: None where no RHAPSODE_WEBHOOK_KEY is set."""

    store: WebhookStore
    queue: WebhookQueue
    http: SafeHttp
    sealer: SecretSealer | None

    def seal(self, owner: str) -> tuple[str, str]:
        """A new secret of this owner, as it is and sealed. Raises a `HttpProblem`."""
        secret = new_secret()
        return secret, self._sealer().seal(secret, owner)

    def open(self, sealed: str, owner: str) -> str:
        """Raises a `HttpProblem`."""
        try:
            return self._sealer().open(sealed, owner)
        except SecretUnreadable as error:
            detail = f"the secret cannot be shown: {error}; rotate it"
            raise problem("state_conflict", detail, title="The secret is unreadable") from error

    def tenant_secret(self, tenant: TenantId) -> str:
        """What signs for the URLs that jobs name, sealed; drawn when it is first needed. Raises a `HttpProblem`."""
        return self.store.tenant_secrets(tenant, self.seal(tenant)[1])[0].sealed

    def check_url(self, url: str) -> None:
        """Whether a webhook would be sent there now. Raises a `HttpProblem` that points to `url`."""
        try:
            self.http.check(url)
        except SafeHttpError as error:
            raise refused_url(error, "/url") from error

    def _sealer(self) -> SecretSealer:
        if self.sealer is None:
            detail = "this server has no RHAPSODE_WEBHOOK_KEY, so it keeps no secrets and sends no webhooks"
            raise problem("webhooks_unavailable", detail)
        return self.sealer


def open_webhooks(store: WebhookStore, queue: WebhookQueue, settings: ApiSettings) -> WebhookServices:
    key = settings.webhook_key.get_secret_value()
    return WebhookServices(
        store, queue, safe_client(settings.webhook_allow_private), SecretSealer(key) if key else None
    )


def refused_url(error: SafeHttpError, pointer: str) -> HttpProblem:
    """The client's reason is the violation's code: url_refused, blocked_address, unresolved, timed_out."""
    return invalid([FieldViolation(error.reason, str(error), pointer=pointer)])
