"""`rhapsode run PROCESS`: become one process of a system with another supervisor, such as a container runtime."""

from __future__ import annotations

import enum
import os
from typing import Annotated

import typer


class ProcessKind(enum.StrEnum):
    API = "api"
    CPU_WORKER = "cpu-worker"
    GPU_WORKER = "gpu-worker"
    HOOKS_WORKER = "hooks-worker"
    JANITOR = "janitor"


def run(
    process: Annotated[ProcessKind, typer.Argument(help="What to become.")],
    host: Annotated[str, typer.Option(help="Address the API listens on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port the API listens on.")] = 8765,
) -> None:
    """Become one process of a system, with RHAPSODE_ variables for its settings. `rhapsode up` runs all of them."""
    from rhapsode.cli.local.requirements import require_packages
    from rhapsode.stack.commands import DEFAULT_SLOTS
    from rhapsode.stack.processes import inherited_environment

    require_packages(_extra(process))
    environment = inherited_environment(os.environ)
    environment.setdefault("RHAPSODE_SLOTS", str(DEFAULT_SLOTS))
    environment |= _lane(process)
    command = _command(process, host, port, environment["RHAPSODE_SLOTS"])
    os.execve(command[0], command, environment)  # noqa: S606  # signals must reach the process itself


def _extra(process: ProcessKind) -> str:
    """What installs all that the process needs."""
    match process:
        case ProcessKind.API:
            return "api"
        case ProcessKind.CPU_WORKER | ProcessKind.GPU_WORKER:
            return "worker"
        case ProcessKind.HOOKS_WORKER | ProcessKind.JANITOR:
            return "storage"


def _lane(process: ProcessKind) -> dict[str, str]:
    match process:
        case ProcessKind.CPU_WORKER:
            return {"RHAPSODE_LANE": "cpu"}
        case ProcessKind.GPU_WORKER:
            return {"RHAPSODE_LANE": "gpu"}
        case ProcessKind.API | ProcessKind.HOOKS_WORKER | ProcessKind.JANITOR:
            return {}


def _command(process: ProcessKind, host: str, port: int, slots: str) -> tuple[str, ...]:
    from rhapsode.stack import commands

    match process:
        case ProcessKind.API:
            return commands.api(host, port)
        case ProcessKind.CPU_WORKER:
            return commands.cpu_worker()
        case ProcessKind.GPU_WORKER:
            return commands.gpu_worker(slots)
        case ProcessKind.HOOKS_WORKER:
            return commands.hooks_worker()
        case ProcessKind.JANITOR:
            return commands.janitor()
