"""For receivers of webhooks: is this from our Rhapsode, and what does it say?

from rhapsode.webhooks import verify

event = verify(request.body, request.headers, "whsec_...")
if event.type == "job.succeeded" and is_new(event.id):
    ...

Deliveries are at least once: the same event may come again, always with the same `id`, so remember the ids that were
dealt with. Answer with any 2xx within fifteen seconds; do the work afterwards. Signatures are those of Standard
Webhooks 1.0, so its libraries verify them as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import BaseModel, JsonValue, ValidationError
from standardwebhooks import Webhook, WebhookVerificationError
from standardwebhooks.webhooks import EmptyWebhookSecretError

from rhapsode.errors import RhapsodeError

ID_HEADER = "webhook-id"
TIMESTAMP_HEADER = "webhook-timestamp"

MAX_BODY_BYTES = 64 * 1024
"""More than any webhook has; a sender of more is not Rhapsode."""


class WebhookRefused(RhapsodeError):
    """Not signed with this secret, too old, changed on its way, or no webhook of Rhapsode's at all."""


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """A verified webhook.

    id: the same whenever this event is sent again. type: for instance `job.succeeded`. happened_at: when it happened;
    sent_at: of this attempt. data: what the API's description calls `WebhookData`.
    """

    id: str
    type: str
    happened_at: datetime
    sent_at: datetime
    data: dict[str, JsonValue]


class _Document(BaseModel):
    type: str
    timestamp: datetime
    data: dict[str, JsonValue]


def verify(body: bytes, headers: Mapping[str, str], secret: str | Sequence[str]) -> WebhookEvent:
    """The event, if the body was signed with the secret in the last five minutes.

    body: exactly the bytes that came. headers: in whatever case. secret: `whsec_...`, or several of which one must fit.
    Raises `WebhookRefused`, or `ValueError` for what is no secret.
    """
    given = {name.lower(): value for name, value in headers.items()}
    verifiers = [_verifier(each) for each in ([secret] if isinstance(secret, str) else secret)]
    if len(body) > MAX_BODY_BYTES:
        raise WebhookRefused(f"the body has {len(body)} bytes; a webhook has at most {MAX_BODY_BYTES}")
    reasons = [_refusal(verifier, body, given) for verifier in verifiers]
    if None not in reasons:
        raise WebhookRefused(next((reason for reason in reasons if reason), "there is no secret to verify with"))
    try:
        document = _Document.model_validate_json(body)
    except ValidationError as error:
        raise WebhookRefused("signed, but not a webhook of Rhapsode's") from error
    sent_at = datetime.fromtimestamp(float(given[TIMESTAMP_HEADER]), UTC)
    return WebhookEvent(given[ID_HEADER], document.type, document.timestamp, sent_at, document.data)


def _verifier(secret: str) -> Webhook:
    try:
        return Webhook(secret)
    except (ValueError, EmptyWebhookSecretError) as error:
        raise ValueError("a webhook secret is `whsec_` and Base64") from error


def _refusal(verifier: Webhook, body: bytes, headers: dict[str, str]) -> str | None:
    """Why this secret did not sign it; None if it did."""
    try:
        verifier.verify(body, headers, json_parse=False)
    except WebhookVerificationError as error:
        return str(error)
    except ValueError:
        # What is not even formed like a signature, a time or a text.
        return "the headers or the body are malformed"
    return None
