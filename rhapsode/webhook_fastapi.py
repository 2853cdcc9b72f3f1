"""A receiver of webhooks as a dependency of FastAPI, which has to be installed beside the client.

from rhapsode.webhook_fastapi import webhook_receiver

Received = Annotated[WebhookEvent, Depends(webhook_receiver("whsec_..."))]

@app.post("/hooks", status_code=204)
async def hook(event: Received) -> None:
    ...
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from fastapi import HTTPException, Request

from rhapsode.webhooks import MAX_BODY_BYTES, WebhookEvent, WebhookRefused, verify


def webhook_receiver(secret: str | Sequence[str]) -> Callable[[Request], Awaitable[WebhookEvent]]:
    """A dependency that gives the verified event; what was not signed with the secret is answered with 401."""

    async def received(request: Request) -> WebhookEvent:
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_BODY_BYTES:
                raise HTTPException(413, "the body is larger than any webhook")
        try:
            return verify(bytes(body), request.headers, secret)
        except WebhookRefused as error:
            raise HTTPException(401, str(error)) from error

    return received
