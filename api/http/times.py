"""Moments and durations as answers show them. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeVar

from rhapsode.contract.base import Answer

A = TypeVar("A", bound=Answer)


def moment(unix_ms: int) -> datetime:
    return datetime.fromtimestamp(unix_ms / 1000, UTC)


def optional_moment(unix_ms: int | None) -> datetime | None:
    return None if unix_ms is None else moment(unix_ms)


def audio_s(num_samples: int, sample_rate_hz: int) -> float:
    """0 while the rate is not known."""
    return round(num_samples / sample_rate_hz, 3) if sample_rate_hz else 0.0


def shown(kind: type[A], record: object, /, **others: object) -> A:
    """An answer whose fields a record has too; `x_at` is the moment of its `x_at_ms`, `x_s` the seconds of its `x_ms`.

    others: fields that the record does not have so.
    """
    for name in kind.model_fields.keys() - others.keys():
        in_ms = f"{name[:-1]}ms" if name.endswith("_s") else f"{name}_ms"
        if hasattr(record, name):
            others[name] = getattr(record, name)
        elif hasattr(record, in_ms):
            unix_ms = getattr(record, in_ms)
            others[name] = unix_ms / 1000 if unix_ms is not None and name.endswith("_s") else optional_moment(unix_ms)
    return kind.model_validate(others)
