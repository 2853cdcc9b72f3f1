"""Texts whose arrival in a post-processor is an event: one is seen and waits there, one is the end of its process."""

from __future__ import annotations

import os
import time
from pathlib import Path

_LOOK_S = 0.01


class WaitingText(str):
    """Leaves a file `NAME-PID` in the folder where it arrives, and goes on once there is one called `go`."""

    def __new__(cls, text: str, folder: Path, name: str) -> WaitingText:
        made = super().__new__(cls, text)
        made.arrival = (text, folder, name)
        return made

    arrival: tuple[str, Path, str]

    def __reduce__(self) -> tuple[object, ...]:
        return _arrive, self.arrival


class DeadlyText(str):
    __slots__ = ()

    def __reduce__(self) -> tuple[object, ...]:
        return os._exit, (1,)


def _arrive(text: str, folder: Path, name: str) -> str:
    (folder / f"{name}-{os.getpid()}").touch()
    while not (folder / "go").exists():
        time.sleep(_LOOK_S)
    return text
