"""Memory and power of this machine's GPUs while a server on it speaks, as NVML tells them."""

from __future__ import annotations

import importlib
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Self
from urllib.parse import urlsplit

SAMPLE_EVERY_S = 0.2
_MIB = 1 << 20
_MILLI = 1000


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """Of all GPUs of the machine together. memory_mib: the most that was taken, by any process. watts: their mean;
    None where a GPU does not tell.
    """

    devices: int
    memory_mib: float
    watts: float | None


class DeviceWatch:
    """Reads the GPUs five times a second while it is entered; does nothing where NVML is not there or has none."""

    def __init__(self, url: str) -> None:
        self._nvml = _nvml() if is_of_this_machine(url) else None
        self._devices: list[Any] = []
        self._samples: list[tuple[float, DeviceUse]] = []
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._nvml is not None:
            try:
                self._nvml.nvmlInit()
            except self._nvml.NVMLError:  # no driver here
                self._nvml = None
            else:
                self._begin(self._nvml)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        if self._nvml is not None:
            self._nvml.nvmlShutdown()

    def between(self, begins_s: float, ends_s: float) -> DeviceUse | None:
        """Of this part of the monotonic clock; None where nothing was read in it."""
        return joined_devices([used for at_s, used in self._samples if begins_s <= at_s <= ends_s])

    def _begin(self, nvml: ModuleType) -> None:
        with suppress(nvml.NVMLError):
            self._devices = [nvml.nvmlDeviceGetHandleByIndex(each) for each in range(nvml.nvmlDeviceGetCount())]
        if self._devices:
            self._thread = threading.Thread(target=self._read, args=(nvml,), daemon=True)
            self._thread.start()

    def _read(self, nvml: ModuleType) -> None:
        while True:
            # A GPU that is lost in the middle tells nothing more; the measurement goes on without it.
            with suppress(nvml.NVMLError):
                taken = sum(nvml.nvmlDeviceGetMemoryInfo(each).used for each in self._devices)
                used = DeviceUse(len(self._devices), taken / _MIB, self._watts(nvml))
                self._samples.append((time.monotonic(), used))
            if self._ended.wait(SAMPLE_EVERY_S):
                return

    def _watts(self, nvml: ModuleType) -> float | None:
        try:
            return sum(nvml.nvmlDeviceGetPowerUsage(each) for each in self._devices) / _MILLI
        except nvml.NVMLError_NotSupported:
            return None


def joined_devices(used: Sequence[DeviceUse | None]) -> DeviceUse | None:
    """Of samples, or windows alike in length, as one; None where one of them has none, or there are none."""
    known = [each for each in used if each is not None]
    if not known or len(known) < len(used):
        return None
    watts = [each.watts for each in known if each.watts is not None]
    mean = sum(watts) / len(watts) if len(watts) == len(known) else None
    return DeviceUse(known[0].devices, max(each.memory_mib for each in known), mean)


def is_of_this_machine(url: str) -> bool:
    """Whether a server at this address runs here: an address can be bound on no other machine."""
    host = urlsplit(url).hostname
    if host is None:
        return False
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return any(_can_bind(family, address) for family, _, _, _, address in found)


def _can_bind(family: int, address: tuple[Any, ...]) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind(address)
    except OSError:
        return False
    return True


def _nvml() -> ModuleType | None:
    """NVIDIA's own binding, of `rhapsode[bench]`; None where it is not installed."""
    try:
        return importlib.import_module("pynvml")
    except ImportError:
        return None
