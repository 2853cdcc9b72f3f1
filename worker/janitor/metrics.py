"""What the janitor did, as metrics."""

from __future__ import annotations

from storage.runtime.observability.metrics import counter, gauge

LEADER = gauge("rhapsode_janitor_leader")
SWEPT = counter("rhapsode_janitor_swept")
TOPPED_UP = counter("rhapsode_tickets_topped_up")
FAILURES = counter("rhapsode_janitor_chore_failures")
