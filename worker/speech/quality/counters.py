"""How often the quality gate finds fault, and what it costs: counts of this process, for its metrics."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field


@dataclass(slots=True)
class GateCounts:
    """Since start. attempts: utterances judged; passed of them. rerolls: attempts made because another did not pass.
    exhausted: segments of which none did. reused: segments copied instead. defects: attempts by what was found.
    rerolls_by_reason: rerolls by what was the gravest of the attempt before. judging_s: wall seconds spent in judging.
    """

    attempts: int = 0
    passed: int = 0
    rerolls: int = 0
    exhausted: int = 0
    reused: int = 0
    judging_s: float = 0.0
    defects: Counter[str] = field(default_factory=Counter[str])
    rerolls_by_reason: Counter[str] = field(default_factory=Counter[str])


class GateCounters:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = GateCounts()

    def judged(self, defects: Iterable[str], number: int, seconds: float) -> None:
        """One attempt at a segment, the `number`th from 1; `defects` is empty if it passed."""
        found = list(defects)
        with self._lock:
            self._counts.attempts += 1
            self._counts.passed += not found
            self._counts.rerolls += number > 1
            self._counts.judging_s += seconds
            self._counts.defects.update(found)

    def rerolled(self, reason: str) -> None:
        """Another attempt is made because of this defect."""
        with self._lock:
            self._counts.rerolls_by_reason[reason] += 1

    def gave_up(self) -> None:
        with self._lock:
            self._counts.exhausted += 1

    def reused(self) -> None:
        with self._lock:
            self._counts.reused += 1

    def counts(self) -> GateCounts:
        with self._lock:
            return deepcopy(self._counts)
