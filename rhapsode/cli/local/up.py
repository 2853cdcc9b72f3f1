"""`rhapsode up`: the whole system on this machine until Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.failures import termination_signals
from rhapsode.cli.options import (
    CheckpointOption,
    DataDirOption,
    DeviceOption,
    SlotsOption,
    choose_checkpoint,
    choose_data_dir,
    choose_devices,
    read_settings,
)

if TYPE_CHECKING:
    from types import FrameType

    from rhapsode.cli.local.up_display import UpDisplay
    from rhapsode.stack.layout import DataDir
    from rhapsode.stack.options import StackOptions
    from rhapsode.stack.stack import Stack

HostOption = Annotated[str, typer.Option(help="Address to listen on. All but loopback need RHAPSODE_API_KEYS.")]
PortOption = Annotated[
    int | None, typer.Option(min=0, max=65535, help="Port; 0 picks a free one. Default: RHAPSODE_PORT, or 8765.")
]
ApiProcessesOption = Annotated[
    int | None, typer.Option(min=1, help="API processes. Default: RHAPSODE_API_PROCESSES, or by the number of cores.")
]
CpuWorkersOption = Annotated[
    int | None, typer.Option(min=1, help="CPU workers. Default: RHAPSODE_CPU_WORKERS, or by the number of cores.")
]


def up(
    host: HostOption = "127.0.0.1",
    port: PortOption = None,
    data_dir: DataDirOption = None,
    slots: SlotsOption = None,
    checkpoint: CheckpointOption = None,
    device: DeviceOption = None,
    api_processes: ApiProcessesOption = None,
    cpu_workers: CpuWorkersOption = None,
    local_webhooks: Annotated[
        bool, typer.Option("--local-webhooks", help="Allow webhooks to this machine, also over plain http.")
    ] = False,
) -> None:
    """Run the whole system until Ctrl-C.

    It starts Valkey, API, workers and janitor. Kokoro speaks on the CPU. With another checkpoint, each GPU gets a
    worker; without a GPU, the CPU gets one. The number of cores sets the number of API processes and CPU workers. It
    shows its plan first. `rhapsode doctor` shows the plan without a start.

    A published model that is not here is downloaded, after a question on the terminal. `pull:NAME` asks nothing.
    """
    from rhapsode.cli.local.requirements import require_stack_packages

    settings = read_settings()
    folder = choose_data_dir(data_dir, settings)
    require_stack_packages()
    from rhapsode.cli.local.up_display import choose_display
    from rhapsode.stack.options import StackOptions
    from rhapsode.stack.state_file import Lifetime

    display = choose_display(os.environ.get("RHAPSODE_LOG_FORMAT", ""))
    with display.failures():
        _pull(checkpoint, folder, display)
        options = StackOptions(
            data_dir=folder.root,
            host=host,
            port=settings.port if port is None else port,
            slots=slots,
            checkpoint=choose_checkpoint(checkpoint, folder),
            devices=choose_devices(device),
            api_processes=api_processes or settings.api_processes,
            cpu_workers=cpu_workers or settings.cpu_workers,
            lifetime=Lifetime.SERVER,
            has_local_webhooks=local_webhooks,
        )
        _run(options, folder, display)
    display.say("stopped")


def _pull(checkpoint: Path | None, folder: DataDir, display: UpDisplay) -> None:
    """Fetch each missing model, after `pull:` or a question. Raises `ModelNotPulled`, `ModelUnfit`."""
    from rhapsode.cli.local.models import fetch
    from rhapsode.stack.errors import ModelNotPulled
    from rhapsode.stack.models import CHECKPOINT, with_checkpoints

    try:
        with_checkpoints(os.environ | ({CHECKPOINT: str(checkpoint)} if checkpoint else {}), folder)
    except ModelNotPulled as absent:
        if not (absent.may_be_pulled or (sys.stdin.isatty() and sys.stderr.isatty())):
            raise
        question = f"{absent.name} is not on this machine. Download it now?"
        is_wanted = partial(typer.confirm, question, err=True)
        fetch(absent.name, folder, None, display.say, (lambda: True) if absent.may_be_pulled else is_wanted)
        _pull(checkpoint, folder, display)


def _run(options: StackOptions, folder: DataDir, display: UpDisplay) -> None:
    from rhapsode.stack.errors import StopAsked
    from rhapsode.stack.stack import Stack

    began_s = time.monotonic()
    with Stack(options, os.environ, display) as stack, _stopped_by_signals(stack):
        with suppress(StopAsked):
            with display.starting():
                stack.wait_ready()
            if display.ready:
                display.greet(display.ready, folder, time.monotonic() - began_s)
        while not stack.has_ended(0.5):
            pass
        stack.raise_failure()


@contextmanager
def _stopped_by_signals(stack: Stack) -> Generator[None]:
    """The first signal asks for the orderly end, the next one hurries it."""
    signals: list[int] = []

    def handle(signum: int, frame: FrameType | None) -> None:
        signals.append(signum)
        if len(signals) == 1:
            stack.ask_to_stop()
        else:
            stack.ask_to_hurry()

    before = {signum: signal.signal(signum, handle) for signum in (signal.SIGINT, *termination_signals())}
    try:
        yield
        stack.stop()
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
