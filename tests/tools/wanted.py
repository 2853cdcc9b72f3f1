"""What some tests need beside Python's packages: where it is, and what becomes of those tests without it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

HOW_TO_GET_PROMETHEUS = "no promtool and prometheus here: get both by `make test-tools` or `apt-get install prometheus`"


def find_prometheus(name: str) -> Path | None:
    """`prometheus` or `promtool`: the system's, else what `get_prometheus.py` put beside this Python."""
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    return None if found is None else Path(found)


def is_ci() -> bool:
    return os.environ.get("CI") == "true"


def without(reason: str) -> NoReturn:
    """Pass over the test on somebody's machine; where nobody would read of that (`CI=true`) it has failed."""
    if is_ci():
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
