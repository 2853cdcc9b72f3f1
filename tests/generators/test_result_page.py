"""The page of results says what the result files do, and nothing that is in none of them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from benchmarks.results import ComponentResult
from generators.files import ROOT
from generators.result_page import COMPONENTS, PAGE, lines, read_findings, result_page
from tests.rhapsode.bench.engine.measured import environment

COMPONENT = ComponentResult(
    environment=environment().model_copy(update={"began_at": datetime(2026, 11, 25, tzinfo=UTC)}),
    script="queue/store.py",
    load=0.4,
    wall_s=12.5,
    printed=["put  p50 0.123 ms", "get  p50 0.045 ms"],
)


def test_the_page_is_what_the_results_say() -> None:
    (page,) = result_page().items()

    assert page == (PAGE, (ROOT / PAGE).read_text())


def test_what_a_component_printed_is_there_with_where_it_ran() -> None:
    said = "\n".join(lines([COMPONENT], {}))

    assert "```text\nput  p50 0.123 ms\nget  p50 0.045 ms\n```" in said
    assert "2026-11-25" in said
    assert "12.5 s, load 0.4." in said


def test_what_a_removed_benchmark_found_is_a_line() -> None:
    said = "\n".join(lines([], {"queue/week.py": "Nothing was lost."}))

    assert "## Findings" in said
    assert "- `queue/week.py`: Nothing was lost." in said


def test_no_finding_is_of_a_benchmark_that_is_there() -> None:
    assert [script for script in read_findings() if (ROOT / "benchmarks" / script).exists()] == []


def test_results_name_no_path_of_the_machine_that_they_were_measured_on() -> None:
    files = [*(ROOT / COMPONENTS).glob("*.json")]

    assert [file.name for file in files if re.search(r"/(home|root|work|Users|tmp)/", file.read_text())] == []
