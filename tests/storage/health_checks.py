"""What hypothesis would say of a machine whose every step asks a real Redis, and what we know."""

from __future__ import annotations

from hypothesis import HealthCheck

KNOWN = [
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.too_slow,
    HealthCheck.large_base_example,
]
