"""Which of the formats of a stream a client wants, by its Accept header (RFC 9110). Pure."""

from __future__ import annotations

from api.http.problems.problem import problem
from rhapsode.contract.jobs.output import AudioFormat

STREAMED: dict[AudioFormat, tuple[str, ...]] = {
    AudioFormat.WAV: ("audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"),
    AudioFormat.MP3: ("audio/mpeg", "audio/mp3"),
    AudioFormat.OPUS: ("audio/ogg", "audio/opus", "application/ogg"),
}
"""Formats that can be sent before their end is known, by the media types that ask for them; the first is sent."""


def choose_format(accept: str | None) -> AudioFormat:
    """The one with the highest q; between equals WAV, then MP3. Raises a `HttpProblem` (406) if there is none."""
    if not (accept or "").strip():
        return AudioFormat.WAV
    ranges = [_media_range(part) for part in (accept or "").split(",") if part.strip()]
    qualities = {form: _quality(names, ranges) for form, names in STREAMED.items()}
    best = max(qualities, key=lambda form: qualities[form])
    if qualities[best] <= 0:
        known = ", ".join(names[0] for names in STREAMED.values())
        raise problem("invalid_request", f"a job streams as {known}", status=406, title="Not acceptable")
    return best


def _media_range(part: str) -> tuple[str, float]:
    """Type and q. A q that is no number counts as 1, as if it were absent."""
    name, *parameters = (piece.strip().lower() for piece in part.split(";"))
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            try:
                return name, min(1.0, max(0.0, float(value)))
            except ValueError:
                return name, 1.0
    return name, 1.0


def _quality(names: tuple[str, ...], ranges: list[tuple[str, float]]) -> float:
    """The most specific range that fits counts; the names of one format are one type."""
    group = f"{names[0].partition('/')[0]}/*"
    for wanted in (names, (group,), ("*/*",)):
        found = [quality for media_range, quality in ranges if media_range in wanted]
        if found:
            return max(found)
    return 0.0
