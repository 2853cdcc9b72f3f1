"""Headers of every answer that holds speech."""

from __future__ import annotations

from urllib.parse import quote

DESIGNED = "design"
"""The name of a voice that a model makes."""


def spoken_headers(model: str, voice: str) -> dict[str, str]:
    """Which of this server's names spoke. What is not ASCII is percent-encoded."""
    return {"X-Model": quote(model, safe=" /:.,()"), "X-Voice": quote(voice or DESIGNED, safe=" /:.,()")}
