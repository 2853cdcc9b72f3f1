"""What one benchmark of a component printed, as it stands in a file: beside it where, when and with what it ran."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rhapsode.bench.environment import Environment
from rhapsode.bench.report_file import ReportFile

SCHEMA = "rhapsode.bench.component/1"


class ComponentResult(ReportFile):
    """script: below benchmarks/. load: of the machine before it began, over a minute; None where it is not told.

    printed: its lines, as they were.
    """

    schema_: Literal["rhapsode.bench.component/1"] = Field(default=SCHEMA, alias="schema")
    environment: Environment
    script: str
    load: float | None
    wall_s: float
    printed: list[str]
