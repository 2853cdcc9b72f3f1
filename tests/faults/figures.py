"""What every fault row must show, and the numbers it prints."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.faults.load import Load, Outcome
from tests.faults.system import LOOK_S, Leftovers, RunningSystem


@dataclass
class FaultLog:
    """Faults struck so far in one row, and how long the system took to make progress again after each."""

    faults: Counter[str] = field(default_factory=Counter)
    recoveries_s: list[float] = field(default_factory=list)

    def struck(self, kind: str) -> None:
        self.faults[kind] += 1

    def until_progress(self, system: RunningSystem, load: Load, struck_s: float, since_s: float | None = None) -> None:
        """Seconds from the fault to the first segment committed after `since_s` (Unix time); none if all is done."""
        since_s = struck_s if since_s is None else since_s
        until_s = time.monotonic() + 300
        while time.monotonic() < until_s and not load.is_over:
            if system.last_commit_s() > since_s:
                self.recoveries_s.append(time.time() - struck_s)
                return
            time.sleep(LOOK_S)
        assert load.is_over, f"no progress within 300 s\n{system.last_words()}"


@dataclass(frozen=True)
class Figures:
    """What a row of the table says.

    failed: jobs that ended as failed. lost: jobs that did not end. reruns: claims beyond one per item.
    stale_refused: results that came after their lease was lost.
    """

    row: str
    seed: int
    jobs: int
    segments: int
    faults: dict[str, int]
    failed: list[str]
    lost: list[str]
    wrong_bytes: list[str]
    charged_attempts: int
    reruns: int
    stale_refused: int
    topped_up: int
    leftovers: Leftovers
    recoveries_s: list[float]
    wall_s: float

    def line(self) -> str:
        recovery = ", ".join(f"{seconds:.1f}" for seconds in _p50_p99(self.recoveries_s)) or "-"
        faults = ", ".join(f"{count} x {kind}" for kind, count in self.faults.items()) or "none"
        return (
            f"{self.row}: jobs {self.jobs}, segments {self.segments}, faults {faults}, failed {len(self.failed)}, "
            f"lost {len(self.lost)}, wrong bytes {len(self.wrong_bytes)}, attempts charged {self.charged_attempts}, "
            f"re-runs {self.reruns}, stale refused {self.stale_refused}, topped up {self.topped_up}, "
            f"drift {len(self.leftovers.drift)}, recovery p50/p99 s {recovery}, "
            f"wall {self.wall_s:.0f} s, seed {self.seed}"
        )


def collect(
    row: str, seed: int, system: RunningSystem, outcomes: Sequence[Outcome], log: FaultLog, wall_s: float
) -> Figures:
    failures = [outcome for outcome in outcomes if outcome.error is not None]
    # A late worker learns it from its lease or, if it is quicker than that, from the commit; by then the job may
    # have ended with the other worker's result. Nobody cancels jobs here, so every refusal is of this kind.
    stale = system.log_events("work dropped") + system.log_events("result refused")
    topped_up = system.log_events("tickets topped up")
    return Figures(
        row=row,
        seed=seed,
        jobs=len(outcomes),
        segments=sum(outcome.num_segments for outcome in outcomes),
        faults=dict(log.faults),
        failed=[str(outcome.error) for outcome in failures if outcome.state == "failed"],
        lost=[str(outcome.error) for outcome in failures if outcome.state not in {"failed", "succeeded"}],
        wrong_bytes=[str(outcome.error) for outcome in failures if outcome.state == "succeeded"],
        charged_attempts=system.charged_attempts(),
        reruns=system.claims_beyond_first(),
        stale_refused=len(stale),
        topped_up=sum(int(str(entry["tickets"])) for entry in topped_up),
        leftovers=system.leftovers(),
        recoveries_s=log.recoveries_s,
        wall_s=wall_s,
    )


def check_standard_pass(figures: Figures, system: RunningSystem, outcomes: Sequence[Outcome]) -> None:
    """Every job succeeded once, every byte right, no item charged, nothing left."""
    explained = f"{figures.line()}\n{system.last_words()}"
    assert figures.failed == [], explained
    assert figures.charged_attempts == 0, explained
    check_honest_end(figures, system, outcomes)


def check_honest_end(figures: Figures, system: RunningSystem, outcomes: Sequence[Outcome]) -> None:
    """What must hold even when a job was meant to fail."""
    ids = [outcome.job_id for outcome in outcomes]
    explained = f"{figures.line()}\n{system.last_words()}"
    assert figures.lost == [], f"{figures.lost} {explained}"
    assert figures.wrong_bytes == [], explained
    assert len(set(ids)) == len(ids) == figures.jobs
    assert system.job_ids() == set(ids), "jobs that no client was told of"
    assert figures.leftovers == Leftovers((), 0, 0, 0, 0), explained


def _p50_p99(seconds: list[float]) -> tuple[float, ...]:
    if not seconds:
        return ()
    return statistics.median(seconds), sorted(seconds)[max(0, round(0.99 * len(seconds)) - 1)]
