"""Usage of streams, reported to Redis every few seconds and at their ends.

While Redis is unreachable, reports are kept, and sent later. Each has a number, so a report whose answer was lost
counts once.
"""

from __future__ import annotations

import asyncio
import logging
import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from storage.errors import StoreUnavailable
from storage.ids import TenantId
from storage.tenants.live_streams import MAX_REPORTED, REPORT_INTERVAL_S, LiveStreamLedger, MadeSpeech, StreamReport

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Account:
    """Of one stream: its usage since the last report."""

    tenant: TenantId
    stream: str
    key: str
    segments: int = 0
    characters: int = 0
    audio_s: float = 0.0
    engine_s: float = 0.0
    is_over: bool = False

    def statement(self) -> StreamReport:
        """What to report; fractions of a millisecond are reported next time."""
        audio_ms, engine_ms = _whole_ms(self.audio_s), _whole_ms(self.engine_s)
        made = MadeSpeech(self.segments, self.characters, audio_ms, engine_ms)
        self.segments = self.characters = 0
        self.audio_s -= audio_ms / 1000
        self.engine_s -= engine_ms / 1000
        return StreamReport(self.tenant, self.stream, self.key, self.is_over, made)


def _whole_ms(seconds: float) -> int:
    """What sums of floats lack of a millisecond is rounding."""
    return int(seconds * 1000 + 1e-6)


@dataclass(slots=True)
class Accounts:
    """Of this process. For the event loop."""

    ledger: LiveStreamLedger
    process: str = field(default_factory=lambda: uuid.uuid4().hex)
    _open: dict[str, Account] = field(default_factory=dict[str, Account])
    _pending: Sequence[StreamReport] | None = None
    _told: int = 0

    async def open(self, account: Account) -> None:
        """Raises `QuotaExceeded` or `StoreUnavailable`. A stream that has ended by then is reported as any other."""
        await self.ledger.open(account.tenant, account.stream)
        self._open[account.stream] = account

    async def run(self) -> None:
        while True:
            await asyncio.sleep(REPORT_INTERVAL_S)
            try:
                await self.tell()
            except StoreUnavailable as error:
                logger.warning("live streams could not be accounted for yet", extra={"reason": str(error)})

    async def tell(self) -> None:
        """Report all usage. Raises `StoreUnavailable`; the next call repeats the failed report first."""
        rounds = math.ceil(len(self._open) / MAX_REPORTED) + (self._pending is not None)
        for _ in range(rounds):
            if self._pending is None:
                self._told += 1
                self._pending = [each.statement() for each in self._due()]
            await self.ledger.report(self.process, self._told, self._pending)
            self._pending = None

    def _due(self) -> list[Account]:
        """The streams of one report. Reported streams come last next time; ended ones never return."""
        due = [self._open.pop(stream) for stream in list(self._open)[:MAX_REPORTED]]
        self._open |= {each.stream: each for each in due if not each.is_over}
        return due
