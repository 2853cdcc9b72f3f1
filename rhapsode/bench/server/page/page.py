"""A measurement as one HTML file that needs nothing else: plots, the table, what went wrong, where it was measured."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from rhapsode.bench.environment import Environment
from rhapsode.bench.server.page.plot import COLOURS, Plot, svg
from rhapsode.bench.server.page.plots import plots, quality_plots
from rhapsode.bench.server.report import ServerReport
from rhapsode.bench.server.text_quality import quality_rows, quality_verdicts
from rhapsode.bench.server.text_report import failures, length_rows, load_rows, verdicts

_STYLE = Path(__file__).with_name("page.css")


def write_page(report: ServerReport, path: Path) -> None:
    path.write_text(page(report), encoding="utf-8")


def page(report: ServerReport) -> str:
    title = escape(f"Speech of {report.asked.url}")
    parts = "\n".join(_parts(report))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    style = _STYLE.read_text(encoding="utf-8")
    body = f"<h1>{title}</h1>\n{parts}"
    document = f'<html lang="en"><head>{head}<style>\n{style}</style></head>\n<body>\n{body}\n</body></html>'
    return f"<!doctype html>\n{document}\n"


def _parts(report: ServerReport) -> Iterator[str]:
    asked = report.asked
    named = {"kind": asked.target, "model": asked.model, "voice": asked.voice, "to be spoken": asked.instructions}
    told = ", ".join(f"{name} {value}" for name, value in named.items() if value)
    texts = f"texts of {', '.join(asked.levels)} length in {', '.join(asked.languages)}"
    yield f"<p>{escape(f'{told}; {texts}.')}</p>"
    if report.ended != "complete":
        yield f'<p class="warning">The run was {report.ended} after {report.wall_s:.0f} s: this is what there was.</p>'
    if report.stages:
        yield from (f"<p>{escape(each)}</p>" for each in verdicts(report))
        yield '<div class="plots">'
        yield from map(_figure, plots(report))
        yield "</div>"
        yield from _table("By load", load_rows(report))
        yield from _table("By length of text", length_rows(report))
    if report.quality is not None:
        yield '<div class="plots">'
        yield from map(_figure, quality_plots(report.quality))
        yield "</div>"
        yield from _table("As it sounds", quality_rows(report.quality))
        yield from (f"<p>{escape(each)}</p>" for each in quality_verdicts(report.quality))
    wrong = [line for stage in report.stages for line in failures(stage)]
    wrong += [f"{left.stage} was left out: {left.why}" for left in report.left_out]
    if wrong:
        yield "<h2>What went wrong</h2><ul>"
        yield from (f"<li>{escape(each)}</li>" for each in wrong)
        yield "</ul>"
    yield from _environment(report.environment)


def _figure(plot: Plot) -> str:
    keys = "".join(f"<li>{_key(number)}{escape(each.name)}</li>" for number, each in enumerate(plot.series))
    return f"<figure><figcaption>{escape(plot.title)}</figcaption>{svg(plot)}<ul>{keys}</ul></figure>"


def _key(number: int) -> str:
    line = f'<polyline class="c{number % COLOURS}" points="0,5 28,5"/>'
    return f'<svg viewBox="0 0 28 10" aria-hidden="true">{line}</svg>'


def _table(title: str, rows: list[list[str]]) -> Iterator[str]:
    heads, *cells = rows
    yield f'<h2>{title}</h2><div class="wide"><table><thead><tr>{_row("th", heads)}</tr></thead><tbody>'
    yield from (f"<tr>{_row('td', row)}</tr>" for row in cells)
    yield "</tbody></table></div>"


def _row(kind: str, cells: list[str]) -> str:
    return "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells)


def _environment(found: Environment) -> Iterator[str]:
    yield "<h2>Measured with</h2><dl>"
    for name, value in found.model_dump(mode="json").items():
        if value is not None:
            yield f"<dt>{escape(name.replace('_', ' '))}</dt><dd>{escape(str(value))}</dd>"
    yield "</dl>"
