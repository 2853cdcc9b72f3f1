"""Keeps a report of `rhapsode bench --url` among the results that RESULTS.md is made of, without its single requests.

python benchmarks/suite/keep.py REPORT.json NAME
"""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

from rhapsode.bench.server.report import ServerReport

RESULTS = Path(__file__).resolve().parents[1] / "results" / "servers"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path)
    parser.add_argument("name", help="of the result: letters, digits and hyphens")
    arguments = parser.parse_args()
    if not re.fullmatch(r"[a-z0-9-]+", arguments.name):
        parser.error("the name is of letters, digits and hyphens")
    RESULTS.mkdir(parents=True, exist_ok=True)
    without_requests(ServerReport.read(arguments.report)).write(RESULTS / f"{arguments.name}.json")


def without_requests(report: ServerReport) -> ServerReport:
    """Summaries make the tables, and a long run has a million requests. Of files the command keeps the names."""
    words = [Path(word).name if word.startswith("/") else word for word in shlex.split(report.environment.command)]
    environment = report.environment.model_copy(update={"command": shlex.join(words)})
    stages = [stage.model_copy(update={"requests": []}) for stage in report.stages]
    baseline = None if report.baseline is None else without_requests(report.baseline)
    return report.model_copy(update={"environment": environment, "stages": stages, "baseline": baseline})


if __name__ == "__main__":
    main()
