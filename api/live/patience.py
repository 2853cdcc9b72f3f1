"""For how long live streams are waited for, as operators set it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LivePatience:
    """resume_s: how long the listener of a stream that lost its worker may hear nothing before it ends; a worker that
    starts again takes half a minute. drain_s: how long streams go on once this process is told to stop.
    """

    resume_s: float
    drain_s: float
