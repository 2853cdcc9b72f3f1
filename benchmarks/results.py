"""What stands in `results/`: what a benchmark printed, and reports of `rhapsode bench --url` without their requests.

    python benchmarks/results.py REPORT.json NAME

keeps such a report for RESULTS.md. `run_all.py` keeps the others.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Literal

from pydantic import Field

from benchmarks.rig import parser
from rhapsode.bench.report import Environment, ReportFile
from rhapsode.bench.server.report import ServerReport

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


def without_requests(report: ServerReport) -> ServerReport:
    """Summaries make the tables, and a long run has a million requests. Of files the command keeps the names."""
    words = [Path(word).name if word.startswith("/") else word for word in shlex.split(report.environment.command)]
    environment = report.environment.model_copy(update={"command": shlex.join(words)})
    stages = [stage.model_copy(update={"requests": []}) for stage in report.stages]
    baseline = None if report.baseline is None else without_requests(report.baseline)
    return report.model_copy(update={"environment": environment, "stages": stages, "baseline": baseline})


def main() -> None:
    options = parser(__doc__)
    options.add_argument("report", type=Path)
    options.add_argument("name", help="of the result: letters, digits and hyphens")
    given = options.parse_args()
    if not re.fullmatch(r"[a-z0-9-]+", given.name):
        options.error("the name is of letters, digits and hyphens")
    folder = RESULTS / "servers"
    folder.mkdir(parents=True, exist_ok=True)
    without_requests(ServerReport.read(given.report)).write(folder / f"{given.name}.json")


if __name__ == "__main__":
    main()
