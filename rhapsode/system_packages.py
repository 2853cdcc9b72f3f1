"""Where `api`, `worker`, `storage` and `reading` lie: beside `rhapsode` in a checkout, in a private folder inside it in
a wheel.

Four names so short may be another package's too, so a wheel does not claim them. The folder comes first on the path of
the processes of a system; a program that imports the client does not see it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

_HERE = Path(__file__).resolve().parent

PRIVATE = _HERE / "_system"
"""In a wheel alone: see `pyproject.toml`."""


def put_first() -> None:
    """On this process's path."""
    if PRIVATE.is_dir():
        sys.path.insert(0, str(PRIVATE))


def put_last() -> None:
    """On the path of a process that need not be ours: what it finds for itself it goes on finding."""
    if PRIVATE.is_dir() and str(PRIVATE) not in sys.path:
        sys.path.append(str(PRIVATE))


def is_ours(package: str) -> bool:
    """Whether `package` would be imported from where ours lie. Nothing is imported to tell."""
    spec = find_spec(package)
    home = PRIVATE if PRIVATE.is_dir() else _HERE.parent
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve().is_relative_to(home / package)


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a process in `environ`, and all that it starts, gets besides to find our packages and no others.

    Without PYTHONSAFEPATH Python would look first in the folder where it was started, which may contain another
    `storage` or `worker`.
    """
    alone = {"PYTHONSAFEPATH": "1"}
    if PRIVATE.is_dir():
        others = environ.get("PYTHONPATH")
        alone["PYTHONPATH"] = os.pathsep.join((str(PRIVATE), others)) if others else str(PRIVATE)
    return alone
