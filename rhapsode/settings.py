"""What the client and the command line read from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

# pydantic-settings takes longer to load than a server takes to begin to speak.
from pydantic import BaseModel, ConfigDict, Field, SecretStr

PREFIX = "RHAPSODE_"


class ClientSettings(BaseModel):
    """RHAPSODE_SERVER_URL, RHAPSODE_API_KEY, RHAPSODE_DATA_DIR, RHAPSODE_PORT, RHAPSODE_API_PROCESSES,
    RHAPSODE_CPU_WORKERS and RHAPSODE_DEBUG.
    """

    model_config = ConfigDict(frozen=True)

    server_url: str | None = None
    """Where the API is; without it, the stack that `rhapsode up` runs on this machine."""

    api_key: SecretStr | None = None
    data_dir: Path | None = None
    """Where the stack keeps everything; default: rhapsode/ in the XDG data folder."""

    port: int = Field(default=8765, ge=0, le=65535)
    """Where `rhapsode up` listens; 0 picks a free port."""

    api_processes: int | None = Field(default=None, ge=1, le=1024)
    cpu_workers: int | None = Field(default=None, ge=1, le=1024)
    """How many `rhapsode up` starts; None: by the number of cores."""

    debug: bool = False
    """Show tracebacks of unexpected errors."""

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Self:
        """Names in capitals or not; what is empty is unset. Raises `ValidationError` for what makes no sense."""
        named = {name.upper(): value for name, value in environment.items() if value}
        given = {field: named.get(f"{PREFIX}{field.upper()}") for field in cls.model_fields}
        return cls.model_validate({field: value for field, value in given.items() if value is not None})
