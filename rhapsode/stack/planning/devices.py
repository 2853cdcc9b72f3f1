"""The devices that a caller names: `cuda:0,cuda:1`, `cpu`, `mps`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rhapsode.stack.errors import PlanRefused

CPU = "cpu"
MPS = "mps"
GPU = "cuda"
MOST_DIGITS = 3


def parse_devices(source: str, text: str) -> tuple[str, ...]:
    """source: the option or setting, for the message. Raises `PlanRefused`."""
    devices = tuple(_device(source, word.strip()) for word in text.split(","))
    for device, times in Counter(devices).items():
        if times > 1:
            raise PlanRefused(f"{source}: {device} is named twice")
    for device in devices:
        if len(devices) > 1 and not is_gpu(device):
            raise PlanRefused(f"{source}: {device} stands alone; only GPUs can be several, such as cuda:0,cuda:1")
    return devices


def is_gpu(device: str) -> bool:
    return device.startswith(GPU)


def require_there(source: str, devices: Sequence[str], there: Sequence[str], note: str) -> None:
    """note: why there are none. Raises `PlanRefused` for a GPU that this machine does not have."""
    for device in devices:
        if is_gpu(device) and device not in there:
            known = f"there is {', '.join(there)}" if there else "there is no GPU"
            raise PlanRefused(f"{source}: {device} is not here; {known}{f' ({note})' if note else ''}")


def _device(source: str, word: str) -> str:
    if word in (CPU, MPS):
        return word
    kind, colon, number = word.partition(":")
    if kind == GPU and (not colon or _is_number(number)):
        return f"{GPU}:{int(number or 0)}"
    raise PlanRefused(f"{source}: {word[:40]!r} is no device; write cpu, or GPUs such as cuda:0,cuda:1")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS
