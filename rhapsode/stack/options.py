"""What a caller decides about a stack."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rhapsode.stack.state_file import Lifetime


@dataclass(frozen=True, slots=True)
class StackOptions:
    """Fields that are None leave the worker's own setting.

    data_dir and checkpoint: absolute. port: 0 takes a free one. slots: requests in an engine at once.
    devices: a worker speaks on each; none, as api_processes and cpu_workers: `planning` chooses.
    has_local_webhooks: webhooks may go to receivers on this machine, where everything else listens, too.
    """

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 0
    slots: int | None = None
    checkpoint: Path | None = None
    devices: tuple[str, ...] = ()
    api_processes: int | None = None
    cpu_workers: int | None = None
    lifetime: Lifetime = Lifetime.COMMAND
    has_local_webhooks: bool = False
