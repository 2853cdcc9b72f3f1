"""The systems and figures of the fault tests, for drills that are done here."""

from __future__ import annotations

from tests.faults.conftest import num_jobs, report, seed, start_system

__all__ = ["num_jobs", "report", "seed", "start_system"]
