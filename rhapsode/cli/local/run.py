"""`rhapsode run PROCESS`: one process of a system under another supervisor, such as a container runtime."""

from __future__ import annotations

import enum
import os
import signal
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from rhapsode.cli.failures import Misuse, termination_signals
from rhapsode.cli.options import choose_data_dir, read_settings


class ProcessKind(enum.StrEnum):
    API = "api"
    CPU_WORKER = "cpu-worker"
    DECODER_WORKER = "decoder-worker"
    GPU_WORKER = "gpu-worker"
    HOOKS_WORKER = "hooks-worker"
    JANITOR = "janitor"


WORKERS = (ProcessKind.CPU_WORKER, ProcessKind.GPU_WORKER, ProcessKind.DECODER_WORKER)


def run(
    process: Annotated[ProcessKind, typer.Argument(help="The process to run.")],
    host: Annotated[str, typer.Option(help="Address the API listens on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port the API listens on.")] = 8765,
    api_processes: Annotated[
        int, typer.Option("--processes", min=1, max=64, help="API processes that share the port: one for two cores.")
    ] = 1,
) -> None:
    """Run one process of the system. RHAPSODE_ variables hold its settings. `rhapsode up` runs all processes."""
    from rhapsode.cli.local.requirements import require_packages
    from rhapsode.stack import commands
    from rhapsode.stack.models import with_checkpoints
    from rhapsode.stack.processes import inherited_environment

    if api_processes > 1 and process is not ProcessKind.API:
        raise Misuse(f"--processes: one {process} is one process; start several of them")
    require_packages("api" if process is ProcessKind.API else "worker" if process in WORKERS else "storage")
    environment = inherited_environment(os.environ)
    if process in (ProcessKind.GPU_WORKER, ProcessKind.DECODER_WORKER):
        environment = with_checkpoints(environment, choose_data_dir(None, read_settings()))
    if api_processes > 1:
        _serve_together(host, port, api_processes, environment)
        return
    command = commands.api(host, port) if process is ProcessKind.API else commands.BY_KIND[process]()
    os.execve(command[0], command, environment)  # noqa: S606  # signals must reach the process itself


def _serve_together(host: str, port: int, how_many: int, environment: Mapping[str, str]) -> None:
    """Run the API as several processes until a signal. They share this process's output."""
    from rhapsode.cli.local.up_display import choose_display
    from rhapsode.stack.address import bound
    from rhapsode.stack.api_group import ApiGroup

    display = choose_display(environment.get("RHAPSODE_LOG_FORMAT", ""))
    with display.failures(), ExitStack() as opened:
        listener = opened.enter_context(bound(host, port))
        folder = Path(opened.enter_context(TemporaryDirectory(prefix="rhapsode-api-")))
        group = ApiGroup(listener, how_many, environment, folder, display)
        for signum in (signal.SIGINT, *termination_signals()):
            signal.signal(signum, lambda number, frame: group.ask_to_stop())
        group.run()
