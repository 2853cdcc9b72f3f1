"""The protocols of spans and tracers, apart from the module that records them. Pure."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

Attribute = str | int | float | bool


class TraceSpan(Protocol):
    """What is under way. Thread-safe."""

    def note(self, **attributes: Attribute) -> None:
        """Say something about it that was not known when it began."""
        ...


class Tracer(Protocol):
    def span(self, name: str, parent: str, attributes: dict[str, Attribute]) -> AbstractContextManager[TraceSpan]: ...

    def current(self) -> str: ...

    def close(self) -> None: ...
