"""When a job has to have begun: a time to come, and one that can be kept."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from api.problems import invalid_field

LATEST_DEADLINE = datetime(9999, 1, 1, tzinfo=UTC)
"""A later one could be read with its offset, but not be written down as UTC again."""


def future_ms(deadline: datetime | None) -> int | None:
    """Unix milliseconds. Raises the `Problem` of a deadline that has passed, or that no clock shows."""
    if deadline is None:
        return None
    if deadline.timestamp() <= time.time():
        raise invalid_field("/deadline", "in_the_past", "the deadline has passed")
    if deadline > LATEST_DEADLINE:
        raise invalid_field("/deadline", "out_of_range", f"must not be later than {LATEST_DEADLINE.isoformat()}")
    return int(deadline.timestamp() * 1000)
