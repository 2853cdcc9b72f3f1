"""What a measurement needs of a kind of server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from rhapsode.bench.server.listening.ear import Ear
from rhapsode.bench.server.orders import Order, Speaking, Task


class Target(Protocol):
    @property
    def tasks(self) -> frozenset[Task]:
        """Those that its wire shape has words for."""
        ...

    @property
    def frame_s(self) -> float | None:
        """Seconds of speech in one codec frame of the models that such a server has; None: it may have any."""
        ...

    async def speak(self, order: Order, ear: Ear) -> None:
        """To the last sample. Raises a RequestFailed."""
        ...


MakeTarget = Callable[[Speaking], Target]

FRAME_S = 0.08
"""Of the Qwen3-TTS family at 12.5 frames a second."""


def authorization(speaking: Speaking) -> dict[str, str]:
    return {"Authorization": f"Bearer {speaking.key}"} if speaking.key else {}


def present(**fields: str | None) -> dict[str, str]:
    """Those that are given."""
    return {name: value for name, value in fields.items() if value is not None}
