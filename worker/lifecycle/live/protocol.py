"""What a worker and its live process say to each other, beside start and end: one dataclass per message."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from prometheus_client.core import Metric

from storage.live import address
from storage.live.address import LiveAddress
from worker import settings
from worker.engine import interface
from worker.lifecycle import beside
from worker.process.children.release import release_of


@dataclass(frozen=True, slots=True)
class RefuseNew:
    """See `LiveServer.refuse_new`."""

    is_leaving: bool


@dataclass(frozen=True, slots=True)
class RefuseIfIdle:
    """Answered by `IsIdle`."""


@dataclass(frozen=True, slots=True)
class LiveState:
    """The first one says that it serves. metrics: of its streams, as this process counts them."""

    address: LiveAddress
    metrics: Sequence[Metric]
    longest_pause_s: float


@dataclass(frozen=True, slots=True)
class IsIdle:
    """Whether no stream was open; then new ones are refused."""

    is_so: bool


RELEASE = release_of(address, beside, interface, settings, sys.modules[__name__])
"""The live process's greeting."""
