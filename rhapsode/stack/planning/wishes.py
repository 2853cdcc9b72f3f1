"""What a caller and the environment want of a stack's processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rhapsode.stack.options import StackOptions
from rhapsode.stack.planning.devices import CPU, is_gpu, parse_devices
from rhapsode.stack.state_file import Lifetime
from worker.engine.kokoro.files import unnamed_checkpoint
from worker.engine.model.pulled import PACKAGED

DEVICE_SETTING = "RHAPSODE_DEVICE"
DEVICE_OPTION = "--device"


@dataclass(frozen=True, slots=True)
class Wishes:
    """devices: none: every GPU, or else the CPU. api_processes, cpu_workers: None: by the number of cores.

    devices_source: what named the devices, or why they are what they are. engine_threads: 0: by the number of cores.
    """

    devices: tuple[str, ...] = ()
    devices_source: str = ""
    api_processes: int | None = None
    cpu_workers: int | None = None
    engine_threads: int = 0

    @property
    def devices_reason(self) -> str:
        is_named = self.devices_source in (DEVICE_OPTION, DEVICE_SETTING)
        return f"as {self.devices_source} says" if is_named else self.devices_source

    @property
    def may_want_gpus(self) -> bool:
        return not self.devices or any(map(is_gpu, self.devices))


def wishes_of(options: StackOptions, environ: Mapping[str, str]) -> Wishes:
    """A stack for one command has one process of each kind, on the CPU by default: it starts in seconds.

    Raises `PlanRefused` for a setting that names no devices.
    """
    devices, source = _devices(options, environ)
    wishes = Wishes(devices, source, options.api_processes, options.cpu_workers, _engine_threads(environ))
    if options.lifetime is Lifetime.SERVER:
        return wishes
    return replace(
        wishes,
        devices=devices or (CPU,),
        devices_source=source or "for one command",
        api_processes=options.api_processes or 1,
        cpu_workers=options.cpu_workers or 1,
    )


def _engine_threads(environ: Mapping[str, str]) -> int:
    """What is no number the worker refuses itself."""
    named = environ.get("RHAPSODE_ENGINE_THREADS", "")
    return int(named) if named.isdecimal() else 0


def _devices(options: StackOptions, environ: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    if options.devices:
        return options.devices, DEVICE_OPTION
    if named := environ.get(DEVICE_SETTING):
        return parse_devices(DEVICE_SETTING, named), DEVICE_SETTING
    engine = environ.get("RHAPSODE_ENGINE") or "native"
    if engine == "fake":
        return (CPU,), "the engine `fake` takes no GPU"
    checkpoint = options.checkpoint or environ.get("RHAPSODE_CHECKPOINT") or unnamed_checkpoint(engine, CPU)
    if Path(checkpoint) in (Path("kokoro"), PACKAGED["kokoro"]) and not environ.get("RHAPSODE_CHECKPOINTS"):
        return (CPU,), "Kokoro speaks on the CPU"
    return (), ""
