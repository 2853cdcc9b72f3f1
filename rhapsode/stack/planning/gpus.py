"""Which GPUs torch sees here, found by a separate process.

Importing torch takes seconds, and a broken CUDA installation can crash it. What nvidia-smi lists would not do: it has
another order than torch, knows nothing of CUDA_VISIBLE_DEVICES, and need not be there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pydantic import BaseModel, ValidationError

from rhapsode.stack.planning.machine import SYSTEM, Gpu

TORCH_TIMEOUT_S = 120
DEVICES = Path("/dev")

_QUESTION = """
import json, torch
def gpu(number):
    found = torch.cuda.get_device_properties(number)
    place = [getattr(found, name, None) for name in ("pci_domain_id", "pci_bus_id", "pci_device_id")]
    return {"name": found.name, "memory_bytes": found.total_memory, "place": None if None in place else place}
print(json.dumps({
    "version": torch.__version__,
    "threads": torch.get_num_threads(),
    "cuda": torch.version.cuda,
    "gpus": [gpu(number) for number in range(torch.cuda.device_count())],
}))
"""


class TorchGpu(BaseModel):
    """place: PCI domain, bus and device, where torch knows them."""

    name: str
    memory_bytes: int
    place: tuple[int, int, int] | None = None


class TorchFacts(BaseModel):
    """cuda: None in a build for CPUs."""

    version: str
    threads: int
    cuda: str | None = None
    gpus: tuple[TorchGpu, ...] = ()


class TorchUnusable(Exception):
    """The message says why."""


@dataclass(frozen=True, slots=True)
class FoundGpus:
    """note: why there are none although the machine may have some."""

    gpus: tuple[Gpu, ...] = ()
    note: str = ""


def find_gpus(*, is_asked: bool, devices: Path = DEVICES, system: Path = SYSTEM) -> FoundGpus:
    """is_asked: an option names one. Else torch is not loaded where no driver has made a device."""
    if not is_asked and not has_driver(devices):
        return FoundGpus()
    if find_spec("torch") is None:
        return FoundGpus(note="torch is not installed")
    try:
        facts = ask_torch()
    except TorchUnusable as error:
        return FoundGpus(note=f"torch {error}")
    return FoundGpus(gpus_of(facts, system), _note(facts))


def has_driver(devices: Path = DEVICES) -> bool:
    """Whether NVIDIA's driver shows a device here; in Windows' Linux it is called dxg."""
    return any(devices.glob("nvidia[0-9]*")) or (devices / "dxg").exists()


def ask_torch() -> TorchFacts:
    """Raises `TorchUnusable`."""
    command = [sys.executable, "-P", "-c", _QUESTION]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TORCH_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise TorchUnusable(f"did not load within {TORCH_TIMEOUT_S} s") from None
    said = answer.stderr.strip().splitlines()
    if answer.returncode != 0:
        raise TorchUnusable(f"cannot be loaded: {said[-1] if said else answer.returncode}")
    try:
        return TorchFacts.model_validate(json.loads(answer.stdout.splitlines()[-1]))
    except (IndexError, ValueError, ValidationError):
        raise TorchUnusable("gives an unknown answer") from None


def gpus_of(facts: TorchFacts, system: Path = SYSTEM) -> tuple[Gpu, ...]:
    return tuple(
        Gpu(f"cuda:{number}", gpu.name, gpu.memory_bytes, _node(gpu, system)) for number, gpu in enumerate(facts.gpus)
    )


def _note(facts: TorchFacts) -> str:
    if facts.gpus:
        return ""
    if facts.cuda is None:
        return f"torch {facts.version} is a build for CPUs"
    return f"torch {facts.version} sees none (CUDA_VISIBLE_DEVICES, the driver)"


def _node(gpu: TorchGpu, system: Path) -> int | None:
    """The kernel says -1 where it does not know."""
    if gpu.place is None:
        return None
    domain, bus, device = gpu.place
    file = system / "bus" / "pci" / "devices" / f"{domain:04x}:{bus:02x}:{device:02x}.0" / "numa_node"
    try:
        node = int(file.read_text())
    except (OSError, ValueError):
        return None
    return node if node >= 0 else None
