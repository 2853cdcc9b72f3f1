"""benchmarks/RESULTS.md: every result in benchmarks/results/ as a table. No figure on that page is typed by hand."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from benchmarks.results import ComponentResult
from generators.files import ROOT, Files
from rhapsode.bench.report import Environment
from rhapsode.bench.server.report import ServerReport
from rhapsode.bench.server.text_report import failures, load_rows, quality_rows, quality_verdicts, verdicts

PAGE = Path("benchmarks/RESULTS.md")
SERVERS = Path("benchmarks/results/servers")
COMPONENTS = Path("benchmarks/results/components")
FINDINGS = Path("benchmarks/results/findings.toml")

Findings = Mapping[str, str]
"""By the script that found it."""


def result_page() -> Files:
    servers = {path.stem: ServerReport.read(path) for path in sorted((ROOT / SERVERS).glob("*.json"))}
    components = [ComponentResult.read(path) for path in sorted((ROOT / COMPONENTS).glob("*.json"))]
    return {PAGE: "\n".join(lines(servers, components, read_findings()))}


def read_findings() -> Findings:
    found = tomllib.loads((ROOT / FINDINGS).read_text(encoding="utf-8"))["finding"]
    rows = TypeAdapter(list[dict[str, str]]).validate_python(found)
    return {each["script"]: each["finding"] for each in rows}


def lines(servers: dict[str, ServerReport], components: Sequence[ComponentResult], findings: Findings) -> Iterator[str]:
    yield "<!-- made by `make generated` from benchmarks/results/; change those, never this -->"
    yield "# Results"
    yield ""
    yield "Each result is one run. A `+` behind the commit means uncommitted changes."
    yield "At a load above one for each core, trust ratios, not times. [Terms and other figures](README.md)."
    yield ""
    if servers:
        yield "## Servers"
        yield ""
        yield "From `rhapsode bench --url`, kept by `results.py`."
        yield ""
    said = [list(verdicts(report)) for report in servers.values()]
    of_all = [line for line in dict.fromkeys(itertools.chain(*said)) if all(line in each for each in said)]
    yield from (f"- {_escaped(line)}" for line in of_all)
    yield from [""] if of_all else []
    for name, report in servers.items():
        yield f"### {name}"
        yield ""
        yield _source(report.environment)
        yield ""
        yield from _server(report, of_all)
    if components:
        yield "## Components"
        yield ""
        yield "From `make bench` or `python benchmarks/run_all.py NAME`."
        yield ""
    for result in components:
        load = "" if result.load is None else f", load {result.load:g}"
        yield f"### `{result.script}`"
        yield ""
        yield f"{_source(result.environment)} {result.wall_s:g} s{load}."
        yield ""
        yield "```text"
        yield from result.printed
        yield "```"
        yield ""
    if findings:
        yield "## Findings"
        yield ""
        yield "From scripts that were removed once they had answered; commit `8ffd358c` or `2f1c57a6` has them."
        yield ""
        yield from (f"- `{script}`: {finding}" for script, finding in findings.items())
        yield ""


def _source(found: Environment) -> str:
    day = f"{found.began_at:%Y-%m-%d}"
    machine = f"{found.cores} cores of {found.cpu}, {found.system}, Python {found.python}"
    return f"`{found.command}`, commit {found.commit or 'unknown'}, {day}; {machine}."


def _server(report: ServerReport, of_all: Sequence[str]) -> Iterator[str]:
    """of_all: what is said once, of all servers."""
    yield from _table(load_rows(report))
    yield ""
    yield from (f"- {_escaped(each)}" for each in verdicts(report) if each not in of_all)
    if report.quality is not None:
        yield ""
        yield from _table(quality_rows(report.quality))
        yield ""
        yield from (f"- {_escaped(each)}" for each in quality_verdicts(report.quality))
    yield from (f"- {_escaped(each)}" for stage in report.stages for each in failures(stage))
    yield from (f"- left out: {_escaped(left.stage)}: {_escaped(left.why)}" for left in report.left_out)
    yield ""


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    heads, *cells = rows
    yield _line(heads)
    yield _line(["---", *["---:"] * (len(heads) - 1)])
    yield from map(_line, cells)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    """A server's own words may be among it."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
