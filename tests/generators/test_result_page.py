"""The page of results says what the result files do, and nothing that is in none of them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from benchmarks.results import ComponentResult, without_requests
from generators.files import ROOT
from generators.result_page import COMPONENTS, PAGE, SERVERS, lines, read_findings, result_page
from rhapsode.bench.server.load import ClosedLoad
from tests.rhapsode.bench.engine.measured import environment
from tests.rhapsode.bench.server.measured import report, stage

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


def test_every_figure_of_a_server_is_in_its_table() -> None:
    found = report([stage(ClosedLoad(8), error="503 <full> | gone")])

    said = "\n".join(lines({"theirs-on-monday": found}, [], {}))

    assert "### theirs-on-monday" in said
    summary = found.stages[0].summary
    assert f"| 8 streams | {summary.requests} |" in said
    assert f"| {summary.audio_s_per_s:,.1f} |" in said
    assert "4 × 503 &lt;full> \\| gone" in said


def test_what_a_component_printed_is_there_with_where_it_ran() -> None:
    said = "\n".join(lines({}, [COMPONENT], {}))

    assert "```text\nput  p50 0.123 ms\nget  p50 0.045 ms\n```" in said
    assert "2026-11-25" in said
    assert "12.5 s, load 0.4." in said


def test_what_a_removed_benchmark_found_is_a_line() -> None:
    said = "\n".join(lines({}, [], {"queue/week.py": "Nothing was lost."}))

    assert "## Findings" in said
    assert "- `queue/week.py`: Nothing was lost." in said


def test_no_finding_is_of_a_benchmark_that_is_there() -> None:
    assert [script for script in read_findings() if (ROOT / "benchmarks" / script).exists()] == []


def test_a_kept_report_has_its_summaries_and_no_requests() -> None:
    whole = report([stage(ClosedLoad(8))])
    whole.baseline = report([stage(ClosedLoad(8))])

    kept = without_requests(whole)

    assert kept.stages[0].summary == whole.stages[0].summary
    assert kept.stages[0].requests == []
    assert kept.baseline is not None
    assert kept.baseline.stages[0].requests == []
    assert whole.stages[0].requests


def test_results_name_no_path_of_the_machine_that_they_were_measured_on() -> None:
    files = [*(ROOT / SERVERS).glob("*.json"), *(ROOT / COMPONENTS).glob("*.json")]

    assert [file.name for file in files if re.search(r"/(home|root|work|Users|tmp)/", file.read_text())] == []
