"""What a caller decides about a stack."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rhapsode.stack.state_file import Lifetime


@dataclass(frozen=True, slots=True)
class StackOptions:
    """Fields that are None leave the worker's own setting.

    data_dir and checkpoint: absolute. port: 0 takes a free one. slots: requests in the engine at once.
    """

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 0
    slots: int | None = None
    checkpoint: Path | None = None
    device: str | None = None
    lifetime: Lifetime = Lifetime.COMMAND
