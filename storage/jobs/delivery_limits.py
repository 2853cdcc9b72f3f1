"""How often and for how long webhooks are tried, and how many are kept. Pure."""

from __future__ import annotations

MAX_IN_FLIGHT = 4
"""Attempts at one target at the same time, once it has taken a delivery; 1 before, and while it fails."""

BREAKER_FAILURES = 5
"""Failed attempts in a row after which a target rests."""

FIRST_REST_MS = 10_000
LONGEST_REST_MS = 300_000

LONGEST_PAUSE_MS = 3_600_000
"""How long one Retry-After stops everything for its target; the delivery that got it waits for up to a day."""

HOPELESS_MS = 5 * 24 * 3_600_000
"""An endpoint at which every attempt failed for so long is disabled."""

MAX_WAITING = 100_000
"""Deliveries that may wait for one target, about 1.6 kB of Redis each: as many as the largest batch has jobs. What
comes on top is given up at once; it is in the log and can be sent again."""

KEPT_DELIVERIES = 1_000
"""Ended deliveries of one target that are remembered."""

KEPT_S = 7 * 24 * 3600
"""How long a delivery is remembered after its end."""

KEPT_ATTEMPTS = 20
MAX_ENDPOINTS = 50
"""Of one tenant."""

MAX_SECRETS = 4
"""Secrets of one endpoint that sign at the same time while it is rotated."""
