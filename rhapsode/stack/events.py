"""What a stack tells its starter; said from the stack's own thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rhapsode.stack.planning.plan import StackPlan


@dataclass(frozen=True, slots=True)
class OrphansEnded:
    """A killed stack had left these processes on the data folder."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProcessesPlanned:
    """The planned processes. The first event, before `start` returns."""

    plan: StackPlan


@dataclass(frozen=True, slots=True)
class WaitingFor:
    """What stands between now and ready."""

    what: str


@dataclass(frozen=True, slots=True)
class StackReady:
    """`model` is the checkpoint's name, `notice` a sentence its users should see, or empty."""

    url: str
    model: str
    notice: str


@dataclass(frozen=True, slots=True)
class ProcessEnded:
    """A process that ended unasked; it starts again after `restart_s`. said: its last line, where it gave up itself."""

    name: str
    status: str
    said: str
    restart_s: float
    log: Path


@dataclass(frozen=True, slots=True)
class ProcessRestarted:
    name: str
    pid: int


@dataclass(frozen=True, slots=True)
class Stopping:
    """What is being stopped now."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProcessKilled:
    """It did not end within its grace."""

    name: str
    grace_s: float


@dataclass(frozen=True, slots=True)
class StateUnwritten:
    """Which processes run could not be written down, as on a full disk. Every look tries again, silently."""

    file: Path
    reason: str


StackEvent = (
    ProcessesPlanned
    | OrphansEnded
    | WaitingFor
    | StackReady
    | ProcessEnded
    | ProcessRestarted
    | Stopping
    | ProcessKilled
    | StateUnwritten
)
Observer = Callable[[StackEvent], None]
