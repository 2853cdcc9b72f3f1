from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.router.running_cells import RunningCells, running_cells


@pytest.fixture(scope="session")
def session_cells(short_dir: Path) -> Iterator[RunningCells]:
    """Four servers and their stores take longer to start than the tests take."""
    with running_cells(short_dir / "cells") as running:
        yield running


@pytest.fixture
def cells(session_cells: RunningCells) -> RunningCells:
    return session_cells
