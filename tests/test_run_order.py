"""The order of a run: nothing is lost, and each dear folder is whole in one process's share."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest

from tests.run_order import SECONDS, TESTS, arranged


@dataclass(frozen=True)
class Named:
    """As much of a test as its order depends on."""

    path: Path
    number: int


def collected() -> list[pytest.Item]:
    places = ["api/test_jobs.py"] * 40
    for name in SECONDS:
        places += [name if name.endswith(".py") else f"{name}/test_it.py"] * 9
    places += ["storage/test_plan.py"] * 200
    return cast("list[pytest.Item]", [Named(TESTS / place, number) for number, place in enumerate(places)])


@pytest.mark.parametrize("num_processes", [2, 3, 4, 12])
def test_every_test_is_there_once_and_every_dear_folder_in_one_share(num_processes: int) -> None:
    items = collected()

    order = arranged(items, num_processes)

    assert sorted(order, key=items.index) == items
    size = len(order) // num_processes
    for name in SECONDS:
        places = [place for place, item in enumerate(order) if item.path.is_relative_to(TESTS / name)]
        assert all(later == former + 1 for former, later in pairwise(places)), name
        if num_processes <= 4:
            assert places[0] // size == places[-1] // size, name


def test_a_few_tests_asked_for_by_name_stay_all() -> None:
    items = collected()[:3]

    assert sorted(arranged(items, 3), key=items.index) == items
