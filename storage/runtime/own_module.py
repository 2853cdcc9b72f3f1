"""How a process is started that runs a module of ours, whatever its environment says of where modules lie."""

from __future__ import annotations

import sys
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]
"""The folder that our packages were loaded from: a checkout, or the private folder of an installed wheel."""

_RUN = (
    "import runpy, sys; "
    "sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


def isolated(module: str) -> tuple[str, ...]:
    """As `python -m`, but neither the working folder nor PYTHONPATH decides what runs: our packages come first."""
    return (sys.executable, "-I", "-B", "-c", _RUN, str(HOME), module)
