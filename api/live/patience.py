"""For how long live streams and their listeners are waited for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LivePatience:
    """resume_s: how long the listener of a stream that lost its worker may hear nothing before it ends; a worker that
    starts again takes half a minute. drain_s: how long streams continue after SIGTERM. lateness_s: of
    this process' event loop, beyond which it takes no more of them. slowest_pace: seconds of speech that a listener
    takes in a second, over the whole stream; slower ones would hold a slot of the engine without end.
    """

    drain_s: float
    lateness_s: float
    resume_s: float = 60.0
    slowest_pace: float = 0.25
