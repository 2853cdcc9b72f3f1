"""In which order tests run when several processes share them: what is dear to set up is set up in one of them only.

Each process of pytest-xdist begins with a part of the list of its own, in the list's order, and a process that has
nothing left takes tests from the end of another's part. So the folders whose tests share a whole system, a browser or
an engine stand at the beginning of the parts, each folder in one, and what is taken away is cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

SECONDS: dict[str, int] = {
    "rhapsode": 480,
    "faults/test_faults.py": 260,
    "page": 240,
    "worker/engine": 220,
    "faults/test_model_swaps.py": 180,
    "operations": 110,
    "worker/items": 75,
    "worker/process/test_processes.py": 70,
    "security": 70,
    "readmes": 65,
    "test_wheel.py": 60,
    "api/live": 45,
    "listening": 45,
    "faults/test_webhook_faults.py": 40,
    "worker/lifecycle/fronts": 40,
    "faults/test_reopened_jobs.py": 40,
    "docker": 40,
    "faults/test_batch_faults.py": 20,
}
"""About as long as each of them takes, by folder or file. What is not named here is cheap test by test."""


def arranged(items: Sequence[pytest.Item], num_processes: int) -> list[pytest.Item]:
    """The same tests for so many processes, each of which gets an equal share of the list."""
    dear: dict[str, list[pytest.Item]] = {name: [] for name in SECONDS}
    cheap: list[pytest.Item] = []
    for item in items:
        name = _named(item)
        (cheap if name is None else dear[name]).append(item)
    parts = _divided(dear, num_processes)
    shares = _shares(len(items), num_processes)
    for part, share in zip(parts, shares, strict=True):
        num_more = max(0, share - len(part))
        part.extend(cheap[:num_more])
        del cheap[:num_more]
    return [item for part in parts for item in part] + cheap


def _named(item: pytest.Item) -> str | None:
    place = item.path.relative_to(TESTS).as_posix()
    return next((name for name in SECONDS if place == name or place.startswith(f"{name}/")), None)


def _divided(dear: dict[str, list[pytest.Item]], num_processes: int) -> list[list[pytest.Item]]:
    """The longest first, each to whom has the least to do so far."""
    parts: list[list[pytest.Item]] = [[] for _ in range(num_processes)]
    seconds = [0] * num_processes
    for name in sorted(SECONDS, key=lambda name: -SECONDS[name]):
        least = seconds.index(min(seconds))
        seconds[least] += SECONDS[name]
        parts[least].extend(dear[name])
    return parts


def _shares(num_items: int, num_processes: int) -> list[int]:
    """As pytest-xdist gives them out: each process an equal part of what those before it have left."""
    shares: list[int] = []
    for number in range(num_processes):
        shares.append((num_items - sum(shares)) // (num_processes - number))
    return shares
