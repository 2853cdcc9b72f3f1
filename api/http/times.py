"""Moments and durations as answers show them. Pure."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(unix_ms: int) -> datetime:
    return datetime.fromtimestamp(unix_ms / 1000, UTC)


def optional_moment(unix_ms: int | None) -> datetime | None:
    return None if unix_ms is None else moment(unix_ms)


def audio_s(num_samples: int, sample_rate_hz: int) -> float:
    """0 while the rate is not known."""
    return round(num_samples / sample_rate_hz, 3) if sample_rate_hz else 0.0
