"""Places where a fault test lets a process die: in every gap between an outer effect and its record.

`failpoint("plan.after_put")` does nothing unless RHAPSODE_FAILPOINT selected that very place when the process
started: `name:kill[:when]` dies as from kill -9, `name:exit[:when]` ends the process with code 70. A `when` below 1
is the chance of each passage; a whole number is the passage that is the last, so that a test knows that it strikes.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, get_args

from storage.runtime.config.settings import SettingsError

FailpointName = Literal[
    "submit.after_put",  # the text lies in the store, no job knows it
    "submit.before_tickets",  # the job is durable, no ticket was sent
    "claim.after",  # the lease is taken, nothing is done
    "plan.after_put",  # the plan lies in the store, the job does not know it
    "plan.before_tickets",
    "pack.after_put",  # several segments lie in the store, their job knows none of them
    "segment.after_put",  # the audio lies in the store, the job does not know it
    "segment.before_tickets",
    "voice.after_put",  # the voice's cache lies in the store, its record does not say so
    "assemble.after_put",  # the artifacts lie in the store, the job has not ended
    "assemble.after_finish",  # the job has ended, the ticket is not acknowledged
    "batch.after_input",  # a line's input lies in the store, its job is not made
    "batch.before_commit",  # all jobs of a shard are made, the batch does not know it
    "hook.after_post",  # the receiver has the webhook, the delivery's record does not say so
    "purge.after_objects",  # the objects are gone, the record is not
]
FAILPOINTS: tuple[FailpointName, ...] = get_args(FailpointName)

EXIT_CODE = 70


@dataclass(frozen=True, slots=True)
class _Selection:
    name: str
    action: Literal["kill", "exit"]
    when: float
    passages: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    """`next` of it is one step, whichever threads pass."""

    def strikes(self) -> bool:
        return random.random() < self.when if self.when < 1 else next(self.passages) == self.when


_selected: _Selection | None = None


def configure(text: str) -> None:
    """Select a failpoint, or none with ""; once, at start. Raises `SettingsError` for what is neither."""
    global _selected
    _selected = _parse(text) if text else None


def failpoint(name: FailpointName) -> None:
    """Die here, if this place was selected and its time has come."""
    if _selected is None or _selected.name != name or not _selected.strikes():
        return
    if _selected.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(EXIT_CODE)


def _parse(text: str) -> _Selection:
    name, _, rest = text.partition(":")
    action, _, given = rest.partition(":")
    if name not in FAILPOINTS:
        raise SettingsError(f"RHAPSODE_FAILPOINT: {name!r} is none of {', '.join(FAILPOINTS)}")
    if action != "kill" and action != "exit":
        raise SettingsError(f"RHAPSODE_FAILPOINT: the action is kill or exit, not {action!r}")
    try:
        when = float(given or 1)
    except ValueError:
        when = -1.0
    if not (0 < when < 1 or (when >= 1 and when.is_integer())):
        raise SettingsError(f"RHAPSODE_FAILPOINT: when is a chance below 1 or the number of a passage, not {given!r}")
    return _Selection(name, action, when)
