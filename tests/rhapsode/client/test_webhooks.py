"""What a receiver has in its hands: verification, the FastAPI dependency, and the calls of both clients."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, tzinfo
from importlib import resources
from typing import Annotated, Any

import httpx
import pytest
import standardwebhooks.webhooks
from fastapi import Depends, FastAPI
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from rhapsode.cli.webhooks.listen import listening
from rhapsode.webhook_fastapi import webhook_receiver
from rhapsode.webhooks import MAX_BODY_BYTES, WebhookEvent, WebhookRefused, verify

VECTORS = json.loads(resources.files("rhapsode").joinpath("webhook_vectors.json").read_text(encoding="utf-8"))[
    "vectors"
]
SECRET = "whsec_" + "c2VjcmV0" * 4
BODY = b'{"type":"job.failed","timestamp":"2027-01-15T08:00:00Z","data":{"job":{"id":"job_1"},"links":{}}}'


def signed(body: bytes = BODY, secret: str = SECRET, at: datetime | None = None) -> dict[str, str]:
    moment = at or datetime.now(UTC)
    return {
        "Webhook-Id": "evt_1",
        "Webhook-Timestamp": str(int(moment.timestamp())),
        "Webhook-Signature": Webhook(secret).sign("evt_1", moment, body.decode()),
    }


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_every_vector_is_judged_as_it_says(vector: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime.fromtimestamp(vector["verified_at"], tz)

    monkeypatch.setattr(standardwebhooks.webhooks, "datetime", Clock)
    body = vector["body"].encode()

    if vector["valid"]:
        event = verify(body, vector["headers"], vector["secret"])
        assert event.id == vector["headers"]["webhook-id"]
        assert event.type == json.loads(body)["type"]
    else:
        with pytest.raises(WebhookRefused):
            verify(body, vector["headers"], vector["secret"])


def test_of_several_secrets_one_has_to_fit() -> None:
    assert verify(BODY, signed(), ["whsec_b3RoZXI=", SECRET]).data["job"] == {"id": "job_1"}
    with pytest.raises(WebhookRefused):
        verify(BODY, signed(), ["whsec_b3RoZXI="])
    with pytest.raises(WebhookRefused):
        verify(BODY, signed(), [])


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_!", "whsec_\u00e9"])
def test_what_is_no_secret_is_the_callers_mistake(secret: str) -> None:
    with pytest.raises(ValueError, match="webhook secret"):
        verify(BODY, signed(), secret)


@pytest.mark.parametrize(
    "body", [b"[]", b'{"type":"job.failed"}', b"not json", b'{"type":1,"timestamp":"x","data":{}}']
)
def test_what_is_signed_and_no_webhook_of_ours_is_refused(body: bytes) -> None:
    with pytest.raises(WebhookRefused):
        verify(body, signed(body), SECRET)


@given(
    body=st.binary(max_size=300),
    headers=st.dictionaries(
        st.sampled_from(["webhook-id", "webhook-timestamp", "webhook-signature", "x"]), st.text(max_size=60)
    ),
)
def test_nothing_unsigned_passes_and_nothing_breaks(body: bytes, headers: dict[str, str]) -> None:
    with pytest.raises(WebhookRefused):
        verify(body, headers, SECRET)


def test_a_fastapi_receiver_gets_verified_events_only() -> None:
    app = FastAPI()
    seen: list[WebhookEvent] = []

    @app.post("/hook", status_code=204)
    async def hook(event: Annotated[WebhookEvent, Depends(webhook_receiver(SECRET))]) -> None:
        seen.append(event)

    async def post(body: bytes, headers: dict[str, str]) -> int:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://receiver") as client:
            return (await client.post("/hook", content=body, headers=headers)).status_code

    assert asyncio.run(post(BODY, signed())) == 204
    assert asyncio.run(post(BODY + b" ", signed())) == 401
    assert asyncio.run(post(BODY, {})) == 401
    assert asyncio.run(post(b"x" * (MAX_BODY_BYTES + 1), signed())) == 413
    assert [(event.id, event.type) for event in seen] == [("evt_1", "job.failed")]


def test_the_listener_of_the_command_line_verifies_and_hands_over() -> None:
    with listening(0) as listener, httpx.Client(base_url=f"http://127.0.0.1:{listener.port}") as http:
        assert http.post("/", content=BODY, headers=signed()).status_code == 401  # nothing is expected yet
        listener.secret = SECRET
        assert http.post("/", content=BODY, headers=signed()).status_code == 204
        assert http.post("/", content=BODY, headers={}).status_code == 401
        assert http.post("/", content=b"x" * (MAX_BODY_BYTES + 1), headers=signed()).status_code == 413

        early, good, bad = (listener.received.get(timeout=120) for _ in range(3))

    assert (early.event, bad.event) == (None, None)
    assert good.event is not None
    assert (good.event.type, good.body) == ("job.failed", BODY)
