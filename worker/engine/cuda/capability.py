"""Which path a CUDA device can run, by its capability and by what is installed: decided once, at the engine's start."""

from __future__ import annotations

import enum
import functools
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import torch

from worker.engine.errors import StartError
from worker.engine.profiles import EngineReproducibility
from worker.engine.settings import NativeEngineSettings, Precision

logger = logging.getLogger(__name__)

Capability = tuple[int, int]

# The first that multiplies matrices of bfloat16, which all kernels of the talker do.
_FIRST_WITH_KERNELS: Capability = (8, 0)
# Newer ones run what Triton compiles for them, and nobody has seen it.
_LAST_WITH_KERNELS: Capability = (10, 9)
# Multiplies numbers of eight bits; what is older converts none either.
_FIRST_WITH_FLOAT8: Capability = (8, 9)
_TARGET = re.compile(r"(sm|compute)_(\d+)(\d)[a-z]?$")


class DevicePath(enum.Enum):
    KERNELS = enum.auto()
    """Slots, CUDA graphs and our Triton kernels."""

    PLAIN = enum.auto()
    """What runs on a CPU, on the device: torch alone, in float32, launched one by one. Right, and slow."""


@dataclass(frozen=True, slots=True)
class CudaDevice:
    """torch_targets: what torch was built for, as `sm_80` (that chip, and later ones of its line) and `compute_90`."""

    name: str
    capability: Capability
    torch_targets: tuple[str, ...]
    has_triton: bool


def cuda_device(device: torch.device) -> CudaDevice:
    return CudaDevice(
        torch.cuda.get_device_name(device),
        torch.cuda.get_device_capability(device),
        tuple(torch.cuda.get_arch_list()),
        find_spec("triton") is not None,
    )


@functools.cache
def path_on(device: torch.device) -> DevicePath:
    """Decided and logged once for a device. Raises StartError, in one line, where torch itself cannot use the
    device.
    """
    return path_for(cuda_device(device))


def path_for(device: CudaDevice) -> DevicePath:
    """Says at once what is not the fast path, and why. Raises StartError in one line where nothing fits."""
    what = f"{device.name} (capability {_spelled(device.capability)})"
    if not _is_built_for(device.capability, device.torch_targets):
        raise StartError(
            f"{what}: this torch {torch.__version__} was built for {', '.join(device.torch_targets)} and for nothing "
            f"that this device runs; install a build that was, or set RHAPSODE_DEVICE=cpu"
        )
    if device.capability < _FIRST_WITH_KERNELS:
        logger.warning(
            "%s: our kernels need capability %s, so the plain path in float32 runs, many times slower",
            what,
            _spelled(_FIRST_WITH_KERNELS),
        )
        return DevicePath.PLAIN
    if not device.has_triton:
        logger.warning("%s: Triton is not installed, so the plain path in float32 runs, many times slower", what)
        return DevicePath.PLAIN
    if device.capability > _LAST_WITH_KERNELS:
        logger.warning("%s: newer than any device that our kernels were written for", what)
    return DevicePath.KERNELS


def require_precisions(settings: NativeEngineSettings, device: CudaDevice) -> None:
    """Raises StartError where eight bits are asked for and the device has no such numbers."""
    if not _asks_for_float8(settings) or device.capability >= _FIRST_WITH_FLOAT8:
        return
    raise StartError(
        f"{device.name} has no numbers of eight bits, which came with capability {_spelled(_FIRST_WITH_FLOAT8)} (this "
        f"is {_spelled(device.capability)}); set the engine's precisions to {Precision.BFLOAT16}"
    )


def require_plain(settings: NativeEngineSettings) -> None:
    """Raises StartError where something is asked for that only our kernels keep."""
    if _asks_for_float8(settings):
        raise StartError(f"the plain path has no eight bits; set the engine's precisions to {Precision.BFLOAT16}")
    if settings.reproducibility is EngineReproducibility.STRICT:
        raise StartError("on the plain path of a GPU, rounding depends on the batch; strict is not supported")


def _asks_for_float8(settings: NativeEngineSettings) -> bool:
    return Precision.FLOAT8 in (settings.kv_precision, settings.mlp_precision)


def _is_built_for(capability: Capability, targets: Sequence[str]) -> bool:
    """Machine code runs on later chips of its line; what is in PTX on every later chip."""
    for target in targets:
        match = _TARGET.match(target)
        if match is None:
            continue
        kind, built = match[1], (int(match[2]), int(match[3]))
        if built <= capability and (kind == "compute" or built[0] == capability[0]):
            return True
    return False


def _spelled(capability: Capability) -> str:
    return f"{capability[0]}.{capability[1]}"
