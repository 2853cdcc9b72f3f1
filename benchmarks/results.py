"""What stands in `results/`: what a benchmark printed. `run_all.py` keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from rhapsode.bench.report import Environment, ReportFile

RESULTS = Path(__file__).resolve().parent / "results"


class ComponentResult(ReportFile):
    """script: below benchmarks/. load: of the machine before it began, over a minute; None where the system does not
    say it. printed: its lines, as they were.
    """

    schema_: Literal["rhapsode.bench.component/1"] = Field(default="rhapsode.bench.component/1", alias="schema")
    environment: Environment
    script: str
    load: float | None
    wall_s: float
    printed: list[str]
