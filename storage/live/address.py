"""Where a worker speaks live, as its entry in the worker registry has it: for API processes only."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_ADDRESSES = 2
"""Of a worker. Where its port is given, each further address has the next one."""


@dataclass(frozen=True, slots=True)
class LiveAddress:
    """url: ws:// or wss://, with host and port. token: of this start of the worker, sent as `Authorization: Bearer`.

    server_name: what the worker's certificate is issued to, where that is not the host of `url`; "" where it is.
    live_slots: streams that it can serve at once. free: how many more it accepts now. streams: those open now.
    step_ms: time of a frame, None while nothing is spoken. revision: of the model; a stream continues only on a worker
    of the same one.
    """

    url: str
    token: str = field(repr=False)
    live_slots: int
    free: int
    revision: str
    step_ms: float | None = None
    server_name: str = ""
    is_strict: bool = False
    streams: int = 0
