"""Settings of the process that delivers webhooks."""

from __future__ import annotations

import socket
from typing import Annotated, Self

from pydantic import Field, model_validator

from storage.runtime.config.webhook_options import checked_by, parse_delays
from worker.process.metrics_server import MeasuredSettings
from worker.webhooks.retry_schedule import DELAYS_S


class HookSettings(MeasuredSettings):
    """One process of the lane `hooks`.

    webhook_delays_s: seconds between the attempts at one delivery, comma-separated.
    worker_name: as of the other workers: a new process of this name takes back what the old one held.
    """

    webhook_delays_s: Annotated[str, checked_by(parse_delays)] = ",".join(f"{delay:.0f}" for delay in DELAYS_S)
    worker_name: str = Field(default="", pattern=r"^[A-Za-z0-9._-]*$")

    @model_validator(mode="after")
    def _has_key(self) -> Self:
        if not self.webhook_key.get_secret_value():
            raise ValueError("RHAPSODE_WEBHOOK_KEY must be set, to the key that the API has")
        return self

    def name_for(self, boot_id: str) -> str:
        return self.worker_name or f"{socket.gethostname()}-hooks-{boot_id[:8]}"
