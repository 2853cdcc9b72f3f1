"""Whether a server lives, and whether it could take a job."""

from __future__ import annotations

from typing import Literal

from rhapsode.contract.base import Answer


class Health(Answer):
    status: Literal["alive"] = "alive"


class Readiness(Answer):
    """`models`: names of the announced models; an empty list says that no worker ever came. `claims`: `held` while no
    worker is given anything, because Redis lost something; null if Redis does not answer. `threads`: `busy` if requests
    wait a second or longer for one of this process's threads. `tasks_down`: background tasks of this process that ended
    unexpectedly and are not started again yet. `reasons`: why it is not ready, in sentences; each has the UTC time of
    the first probe that found it."""

    status: Literal["ready", "unavailable"]
    redis: Literal["ok", "unavailable"]
    store: Literal["ok", "unavailable"]
    threads: Literal["ok", "busy"]
    models: tuple[str, ...] | None
    claims: Literal["open", "held"] | None
    tasks_down: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
