"""How often the quality gate finds fault, and what it costs: counts of this process, for its metrics."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GateCounts:
    """Since start. attempts: utterances judged; passed of them. rerolls: attempts made because another did not pass.
    exhausted: segments of which none did. reused: segments copied instead. defects: attempts by what was found.
    rerolls_by_reason: rerolls by what was the gravest of the attempt before. judging_s: wall seconds spent in judging.
    """

    attempts: int
    passed: int
    rerolls: int
    exhausted: int
    reused: int
    judging_s: float
    defects: Mapping[str, int]
    rerolls_by_reason: Mapping[str, int]


class GateCounters:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._attempts = self._passed = self._rerolls = self._exhausted = self._reused = 0
        self._judging_s = 0.0
        self._defects: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()

    def judged(self, defects: Iterable[str], number: int, seconds: float) -> None:
        """One attempt at a segment, the `number`th from 1; `defects` is empty if it passed."""
        found = list(defects)
        with self._lock:
            self._attempts += 1
            self._passed += not found
            self._rerolls += number > 1
            self._judging_s += seconds
            self._defects.update(found)

    def rerolled(self, reason: str) -> None:
        """Another attempt is made because of this defect."""
        with self._lock:
            self._reasons[reason] += 1

    def gave_up(self) -> None:
        with self._lock:
            self._exhausted += 1

    def reused(self) -> None:
        with self._lock:
            self._reused += 1

    def counts(self) -> GateCounts:
        with self._lock:
            return GateCounts(
                self._attempts,
                self._passed,
                self._rerolls,
                self._exhausted,
                self._reused,
                self._judging_s,
                dict(self._defects),
                dict(self._reasons),
            )
