"""A receiver of webhooks in FastAPI: what was narrated is fetched into a folder.

    rhapsode webhooks add https://your.host/hooks     # prints whsec_...
    WEBHOOK_SECRET=whsec_... uvicorn --app-dir examples webhook_fastapi:app --port 8001

Needs fastapi and uvicorn beside the client. `RHAPSODE_SERVER_URL` and `RHAPSODE_API_KEY` say whom it asks for files.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from fastapi import BackgroundTasks, Depends, FastAPI

from rhapsode import Rhapsode
from rhapsode.webhook_fastapi import webhook_receiver
from rhapsode.webhooks import WebhookEvent

SERVER = os.environ.get("RHAPSODE_SERVER_URL", "http://127.0.0.1:8765")
FOLDER = Path(os.environ.get("NARRATIONS", "narrations"))

# Answers 401 to what was not signed with the secret, and 413 to what is larger than any webhook.
Received = Annotated[WebhookEvent, Depends(webhook_receiver(os.environ["WEBHOOK_SECRET"]))]

app = FastAPI()


@app.post("/hooks", status_code=204)
def receive(event: Received, tasks: BackgroundTasks) -> None:
    """Answers at once, and works afterwards: a delivery that waits for fifteen seconds is made again."""
    match event.data:
        case {"job": {"id": str(job_id)}} if event.type == "job.succeeded":
            tasks.add_task(fetch, job_id)
        case _:
            """Another event, or an endpoint that is tried with `rhapsode webhooks test`."""


def fetch(job_id: str) -> None:
    """The same event may come again: what is there is left alone."""
    with Rhapsode(SERVER, api_key=os.environ.get("RHAPSODE_API_KEY")) as client:
        job = client.job(job_id)
        for artifact in job.artifacts:
            path = FOLDER / f"{job.id}-{artifact.name}"
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                client.download(job, artifact.name, path)
