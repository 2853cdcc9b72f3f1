"""The settings that every process of the worker package has for its metrics."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, field_validator

from storage.runtime.config.settings import StorageSettings, check_host
from worker.process.metrics_server import parse_ports


class MeasuredSettings(StorageSettings):
    """A process that shows its metrics over HTTP.

    metrics_port: where; a range such as 9101-9120 is for several processes of a host, each of which takes the first
        free one. Empty: nowhere.
    metrics_host: the address to listen at; metrics name no tenant and no job, but every process that reaches the port
    reads them.
    """

    metrics_port: str = ""
    metrics_host: Annotated[str, AfterValidator(check_host)] = "127.0.0.1"

    @field_validator("metrics_port")
    @classmethod
    def _ports(cls, value: str) -> str:
        parse_ports(value)
        return value
