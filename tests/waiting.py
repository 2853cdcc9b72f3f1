"""Waiting in a test for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(is_so: Callable[[], object], why: str = "it did not come true", *, within_s: float = 120.0) -> None:
    """Look every ten milliseconds. It fails with `why` after so many seconds."""
    give_up_s = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < give_up_s, why
        time.sleep(0.01)
