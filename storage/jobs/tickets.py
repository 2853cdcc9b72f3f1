"""How many items became ready, and where."""

from __future__ import annotations

from collections import Counter

from storage.ids import WorkQueue

Tickets = Counter[WorkQueue]
"""How many items a function made ready, by queue; as many tickets should be sent. Queues with none are left out."""
