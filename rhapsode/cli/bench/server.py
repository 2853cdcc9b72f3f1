"""`rhapsode bench --url URL`: speed and quality of a running server."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rhapsode.cli.bench.options import SharedOptions
from rhapsode.cli.bench.server_options import ServerOptions
from rhapsode.cli.bench.server_plan import make_plan, read_address
from rhapsode.cli.failures import FAILED, Misuse, status_of, terminated_like_interrupted
from rhapsode.cli.formatting import clock
from rhapsode.cli.local.requirements import require_packages
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.bench.server.plan import BenchPlan
    from rhapsode.bench.server.report import ServerReport
    from rhapsode.bench.server.run import Tell

WORSE_THAN = 1.25


def bench_server(url: str, options: ServerOptions, shared: SharedOptions) -> None:
    from rhapsode.bench.server.run import check_speaks
    from rhapsode.bench.server.text_report import text_report

    _check_together(options)
    earlier = _earlier_report(options.baseline)
    plan = make_plan(url, options, shared, earlier)
    if options.baseline is not None and earlier is None:
        _bench_in_turns(plan, options, shared)
        return
    report = _report(plan, options, shared)
    if options.continue_:
        report = _continued(report, plan, shared.json)
    check_speaks(plan)
    _save(report, shared.json)  # an unwritable path fails before the measurement
    if options.quick and earlier is None:
        plan = make_plan(url, options, shared, char_s=check_speaks(plan, 1))
        report = _report(plan, options, shared)
    status = _measure(report, plan, shared.json)
    echo(text_report(report), nl=False)
    _save(report, shared.json)
    worse = _tell_difference(earlier, report, options.worse_than) if earlier is not None else set()
    _tell_worse(worse)
    if status or worse or not any(stage.summary.whole for stage in report.stages):
        raise typer.Exit(status or FAILED)


def _check_together(options: ServerOptions) -> None:
    if options.quality is not None:
        require_packages("worker")
    elif options.recordings is not None:
        raise Misuse("--recordings needs --quality")
    elif options.whisper is not None:
        raise Misuse("--whisper needs --quality")
    if options.worse_than is not None and options.baseline is None:
        raise Misuse("--worse-than needs --baseline")
    if options.baseline is not None and (options.ramp or options.quality is not None or options.continue_):
        raise Misuse("--baseline excludes --ramp, --quality and --continue")
    if options.quick and options.continue_:
        raise Misuse("--quick excludes --continue: its texts depend on the server's speed")


def _earlier_report(baseline: str | None) -> ServerReport | None:
    """None for a URL."""
    return read_report("--baseline", Path(baseline)) if baseline is not None and Path(baseline).is_file() else None


def _bench_in_turns(plan: BenchPlan, options: ServerOptions, shared: SharedOptions) -> None:
    from rhapsode.bench.server.run import check_speaks, run_in_turns
    from rhapsode.bench.server.text_report import text_report

    other = _of_baseline(plan, options)
    for each in (plan, other):
        check_speaks(each)
    if options.quick:
        slower_s = max(check_speaks(each, 1) for each in (plan, other))
        plan = make_plan(plan.speaking.url, options, shared, char_s=slower_s)
        other = _of_baseline(plan, options)
    report, baseline = _report(plan, options, shared), _report(other, options, shared)
    report.baseline = baseline
    _save(report, shared.json)
    status = _run_with_lines(lambda tell: run_in_turns((report, baseline), (plan, other), tell))
    echo(text_report(report), nl=False)
    _save(report, shared.json)
    worse = _tell_difference(baseline, report, options.worse_than)
    if worse and not status:
        # Requests of one busy second are late together. A difference that matters is seen twice.
        echo("\nMeasured again, to see whether it stays worse:")
        again, before = _report(plan, options, shared), _report(other, options, shared)
        status = _run_with_lines(lambda tell: run_in_turns((again, before), (plan, other), tell))
        worse &= _tell_difference(before, again, options.worse_than)
    _tell_worse(worse)
    if status or worse or not all(stage.summary.whole for each in (report, baseline) for stage in each.stages):
        raise typer.Exit(status or FAILED)


def _of_baseline(plan: BenchPlan, options: ServerOptions) -> BenchPlan:
    return replace(plan, speaking=replace(plan.speaking, url=read_address("--baseline", options.baseline or "")))


def _tell_difference(baseline: ServerReport, report: ServerReport, worse_than: float | None) -> set[str]:
    """What is surely worse, in words. The baseline comes first, so that a ratio above 1 is this server's change."""
    from rhapsode.bench.server.compare import compare, text_comparison

    found, factor = compare(baseline, report), worse_than or WORSE_THAN
    echo(f"\nThe first column is the baseline, the second is this server:\n{text_comparison(found)}", nl=False)
    worse = [each for each in found.differences if each.is_worse_by(factor)]
    return {f"WORSE by more than {factor:g} times: {each.load}: {each.figure}" for each in worse}


def _tell_worse(worse: Iterable[str]) -> None:
    for each in sorted(worse):
        echo(each)


def _report(plan: BenchPlan, options: ServerOptions, shared: SharedOptions) -> ServerReport:
    from rhapsode.bench.report import read_environment
    from rhapsode.bench.server.report import MeasuredServer, ServerReport
    from rhapsode.bench.server.targets import TARGETS

    speaking, texts = plan.speaking, plan.texts
    return ServerReport(
        environment=read_environment(["rhapsode", *sys.argv[1:]]),
        asked=MeasuredServer(
            target=plan.target,
            url=speaking.url,
            model=speaking.model,
            voice=speaking.voice,
            instructions=speaking.instructions,
            task=speaking.task,
            reference_sha256=_digest(options.reference),
            reference_text=speaking.reference_text,
            parameters=speaking.parameters,
            seed=texts.seed,
            levels=texts.levels,
            languages=texts.languages,
            timeout_s=plan.timeout_s,
            clients=plan.clients,
            frame_s=TARGETS[plan.target](speaking).frame_s,
            listener_buffer_s=(options.buffer or 0.0) / 1000,
        ),
        price_per_hour=shared.price,
    )


def _continued(report: ServerReport, plan: BenchPlan, json: Path | None) -> ServerReport:
    """The earlier report with its environment, or the new one without a file."""
    from rhapsode.bench.server.report import NotTheSame, continued

    if json is None:
        raise Misuse("--continue needs --json with a report")
    if not json.exists():
        return report
    try:
        return continued(read_report("--continue", json), report.asked, plan.window_s)
    except NotTheSame as error:
        raise Misuse(f"--continue: {json} was measured with another {error}") from None


def _measure(report: ServerReport, plan: BenchPlan, json: Path | None) -> int:
    """0, or the exit status after Ctrl-C. After a kill, the file has the finished stages."""
    from rhapsode.bench.server.run import run_all

    return _run_with_lines(lambda tell: run_all(report, plan, tell, keep=lambda: _save(report, json)))


def _run_with_lines(measure: Callable[[Tell], None]) -> int:
    began_s = time.monotonic()
    try:
        with terminated_like_interrupted():
            measure(lambda line: echo(f"[{clock(time.monotonic() - began_s)}] {line}", err=True))
    except KeyboardInterrupt as interrupt:
        return status_of(interrupt)
    return 0


def _save(report: ServerReport, json: Path | None) -> None:
    if json is not None:
        report.write(json)


def _digest(recording: Path | None) -> str | None:
    return None if recording is None else hashlib.sha256(recording.read_bytes()).hexdigest()


def show_comparison(first: Path, second: Path) -> None:
    from rhapsode.bench.server.compare import compare, text_comparison

    echo(text_comparison(compare(read_report("--compare", first), read_report("--compare", second))), nl=False)


def read_report(option: str, path: Path) -> ServerReport:
    from pydantic import ValidationError

    from rhapsode.bench.server.report import SCHEMA, ServerReport

    try:
        return ServerReport.read(path)
    except (ValidationError, UnicodeDecodeError):
        raise Misuse(f"{option}: {path} is not a report of a server ({SCHEMA})") from None
