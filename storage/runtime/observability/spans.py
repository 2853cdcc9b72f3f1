"""A span, apart from the module that records it: that one needs OpenTelemetry."""

from __future__ import annotations

Attribute = str | int | float | bool


class TraceSpan:
    """What is under way. This one is recorded nowhere. Thread-safe."""

    def note(self, **attributes: Attribute) -> None:
        """Say something about it that was not known when it began."""
