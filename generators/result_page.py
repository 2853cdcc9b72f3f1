"""benchmarks/RESULTS.md: every result in benchmarks/results/ as a table. No figure on that page is typed by hand."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from benchmarks.results import ComponentResult
from generators.files import ROOT, Files
from rhapsode.bench.report import Environment

PAGE = Path("benchmarks/RESULTS.md")
COMPONENTS = Path("benchmarks/results/components")
FINDINGS = Path("benchmarks/results/findings.toml")

Findings = Mapping[str, str]
"""By the script that found it."""


def result_page() -> Files:
    components = [ComponentResult.read(path) for path in sorted((ROOT / COMPONENTS).glob("*.json"))]
    return {PAGE: "\n".join(lines(components, read_findings()))}


def read_findings() -> Findings:
    found = tomllib.loads((ROOT / FINDINGS).read_text(encoding="utf-8"))["finding"]
    rows = TypeAdapter(list[dict[str, str]]).validate_python(found)
    return {each["script"]: each["finding"] for each in rows}


def lines(components: Sequence[ComponentResult], findings: Findings) -> Iterator[str]:
    yield "<!-- made by `make generated` from benchmarks/results/; change those, never this -->"
    yield "# Results"
    yield ""
    yield "Each result is one run. A `+` behind the commit means uncommitted changes."
    yield "At a load above one for each core, trust ratios, not times. [Terms and other figures](README.md)."
    yield ""
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
