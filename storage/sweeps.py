"""What the janitor finds due. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from storage.tickets import Tickets


@dataclass(frozen=True, slots=True)
class ReapReport:
    """One sweep of the janitor."""

    leases_expired: int
    retries_due: int
    jobs_expired: int
    tickets: Tickets
