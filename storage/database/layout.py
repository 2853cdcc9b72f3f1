"""The number of the layout of keys and records. Imports nothing: also who has no client of Redis reads it."""

from __future__ import annotations

LAYOUT = 4
"""Goes up whenever records that wait in Redis can no longer be read; docker/UPGRADING.md says what to do then."""
