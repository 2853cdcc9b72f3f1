"""How many examples property tests try, and which.

`make test` tries a sixth of them, the same in every run: what a search for new ones finds should not be somebody
else's failing test. `make explore` tries all of them, and searches.
"""

from __future__ import annotations

import os

import hypothesis

EXPLORES = bool(os.environ.get("RHAPSODE_TEST_EXPLORE"))
DEFAULT_EXAMPLES = 100
FEWEST = 3


def examples(number: int) -> int:
    """As many of `number` as this run tries."""
    return number if EXPLORES else max(min(number, FEWEST), number // 6)


def load_profile() -> None:
    # A slow machine is no finding.
    suppressed = [hypothesis.HealthCheck.too_slow]
    hypothesis.settings.register_profile(
        "steady",
        deadline=None,
        derandomize=True,
        max_examples=examples(DEFAULT_EXAMPLES),
        suppress_health_check=suppressed,
    )
    hypothesis.settings.register_profile("exploring", deadline=None, suppress_health_check=suppressed, print_blob=True)
    hypothesis.settings.load_profile("exploring" if EXPLORES else "steady")
