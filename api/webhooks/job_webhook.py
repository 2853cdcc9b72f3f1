"""The receiver of a job's webhook."""

from __future__ import annotations

from api.http.problems.problem import invalid_field
from api.services.webhooks import WebhookServices, refused_url
from rhapsode.contract.jobs.webhook import JobWebhookRequest
from rhapsode.contract.webhooks import EndpointState
from storage.ids import ENDPOINT_ID, EndpointId, TenantId
from storage.jobs.webhook_target import WebhookTarget, endpoint_target, url_target
from storage.runtime.egress.errors import SafeHttpError
from storage.webhooks.errors import EndpointGone, EndpointNotFound


def choose_webhook(
    webhooks: WebhookServices, tenant: TenantId, wanted: JobWebhookRequest, api_url: str
) -> WebhookTarget:
    """Raises a `Problem`.

    Of a URL only the spelling is checked here, for a name server must not decide whether a job is accepted; the host's
    addresses are checked at every attempt.
    """
    if wanted.url is None:
        return _to_endpoint(webhooks, tenant, EndpointId(wanted.endpoint_id or ""), tuple(wanted.events), api_url)
    try:
        origin = webhooks.http.check_spelling(wanted.url)
    except SafeHttpError as error:
        raise refused_url(error, "/webhook/url") from error
    webhooks.tenant_secret(tenant)
    return WebhookTarget(url_target(tenant, origin), tuple(wanted.events), url=wanted.url, api_url=api_url)


def _to_endpoint(
    webhooks: WebhookServices, tenant: TenantId, endpoint: EndpointId, events: tuple[str, ...], api_url: str
) -> WebhookTarget:
    if not ENDPOINT_ID.fullmatch(endpoint):
        raise _unknown(endpoint)
    try:
        record = webhooks.store.get(tenant, endpoint)
    except (EndpointNotFound, EndpointGone):
        raise _unknown(endpoint) from None
    if record.state is EndpointState.DISABLED:
        raise invalid_field("/webhook/endpoint_id", "disabled", f"{endpoint} is disabled; enable it first")
    return WebhookTarget(endpoint_target(endpoint), events, endpoint, api_url=api_url)


def _unknown(endpoint: str) -> Exception:
    detail = f"there is no webhook endpoint {endpoint[:64]!r}"
    return invalid_field("/webhook/endpoint_id", "not_found", detail)
