"""`rhapsode bench --url URL`: what a running server gives its clients."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rhapsode.cli.bench.shared import SharedOptions, read_streams
from rhapsode.cli.failures import FAILED, Misuse, status_of, terminated_like_interrupted
from rhapsode.cli.formatting import clock
from rhapsode.cli.local.requirements import require_packages
from rhapsode.cli.options import check_choices, read_settings

if TYPE_CHECKING:
    from pydantic import JsonValue

    from rhapsode.bench.server.orders import Speaking
    from rhapsode.bench.server.plan import Plan
    from rhapsode.bench.server.report import ServerReport
    from rhapsode.bench.server.texts.bank import TextChoice

MOST_STREAMS = 10_000
MOST_RATE = 10_000.0
RAMP_TO = 4_096
RAMP_STAGES = 16
"""More than it takes: twelve doublings and the halvings behind them."""
PatternName = Literal["poisson", "even"]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """A running server, with --url."""

    target: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Of server: rhapsode (the default), rhapsode-live, rhapsode-jobs, openai, kokoro, vllm-omni, "
            "sglang-omni, nari or nari-live.",
        ),
    ] = None
    model: Annotated[str | None, typer.Option(help="Sent with each request; else the server chooses.")] = None
    voice: Annotated[str | None, typer.Option(help="Sent with each request; else the server chooses.")] = None
    instructions: Annotated[str | None, typer.Option(help="How to speak, or which voice to design.")] = None
    param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=JSON", help="A further field of each request, such as seed=7; several times."),
    ] = None
    key_from: Annotated[
        str | None,
        typer.Option(metavar="VARIABLE", help="Where the environment has the key, else RHAPSODE_API_KEY for ours."),
    ] = None
    rates: Annotated[
        str | None,
        typer.Option(metavar="N,N...", help="Requests a second, whether answered or not; one measurement for each."),
    ] = None
    arrivals: Annotated[
        PatternName | None, typer.Option(help="How requests of a rate come: at random (poisson, the default), or even.")
    ] = None
    ramp: Annotated[
        bool, typer.Option("--ramp", help="Look for the most streams that are spoken as fast as they are heard.")
    ] = False
    buffer: Annotated[
        float | None,
        typer.Option(min=0, max=10_000, help="Of a listener, in ms, else 0: for it holes are counted."),
    ] = None
    seconds: Annotated[float | None, typer.Option(min=1, max=3600, help="Of each measurement, else 20.")] = None
    warm_up: Annotated[
        float | None, typer.Option(min=0, max=3600, help="Seconds before it that are not counted, else 5.")
    ] = None
    timeout: Annotated[float | None, typer.Option(min=1, max=3600, help="Seconds for one request, else 120.")] = None
    lengths: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Of the texts, of short,medium,long; else all of them.")
    ] = None
    languages: Annotated[str | None, typer.Option(metavar="NAMES", help="Of the texts, of en,zh,mixed; else en.")] = (
        None
    )
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of texts and arrivals, else 0; another one gives other texts.")
    ] = None
    clients: Annotated[
        int | None, typer.Option(min=1, max=64, help="Processes that ask, else one for each two cores, four at most.")
    ] = None
    quality: Annotated[
        int | None, typer.Option(min=1, max=1000, metavar="N", help="Texts spoken at the end to be judged, twice each.")
    ] = None
    recordings: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep what was judged there, as WAVs.")] = None
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page there, with plots; it needs no network.")
    ] = None
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and shorter measurements: 90 seconds.")] = False


def bench_server(url: str, options: ServerOptions, shared: SharedOptions) -> None:
    from rhapsode.bench.environment import read_environment
    from rhapsode.bench.server.report import Asked, ServerReport
    from rhapsode.bench.server.run import check_speaks
    from rhapsode.bench.server.targets.catalogue import TARGETS
    from rhapsode.bench.server.text_report import text_report

    if options.quality is not None:
        require_packages("worker")
    elif options.recordings is not None:
        raise Misuse("--recordings needs --quality: nothing else is kept")
    plan = _plan(url, options, shared)
    speaking, texts = plan.speaking, plan.texts
    report = ServerReport(
        environment=read_environment(["rhapsode", *sys.argv[1:]]),
        asked=Asked(
            target=plan.target,
            url=speaking.url,
            model=speaking.model,
            voice=speaking.voice,
            instructions=speaking.instructions,
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
    check_speaks(plan)
    _save(report, shared.json, options.html)  # what cannot be written there is known before it is measured
    status = _measure(report, plan)
    typer.echo(text_report(report), nl=False)
    _save(report, shared.json, options.html)
    if status or not any(stage.summary.whole for stage in report.stages):
        raise typer.Exit(status or FAILED)


def _measure(report: ServerReport, plan: Plan) -> int:
    """0, or the exit status of somebody's Ctrl-C."""
    from rhapsode.bench.server.run import run_all

    began_s = time.monotonic()
    try:
        with terminated_like_interrupted():
            run_all(report, plan, lambda line: typer.echo(f"[{clock(time.monotonic() - began_s)}] {line}", err=True))
    except KeyboardInterrupt as interrupt:
        return status_of(interrupt)
    return 0


def _save(report: ServerReport, json: Path | None, html: Path | None) -> None:
    from rhapsode.bench.server.page.page import write_page

    if json is not None:
        report.write(json)
    if html is not None:
        write_page(report, html)


def _plan(url: str, options: ServerOptions, shared: SharedOptions) -> Plan:
    from rhapsode.bench.server import plan as plans
    from rhapsode.bench.server.targets.catalogue import TARGETS

    target = options.target or "rhapsode"
    check_choices("--target", [target], TARGETS)
    is_chosen = options.ramp or shared.streams is not None or options.rates is not None
    streams = () if is_chosen else plans.QUICK_STREAMS if options.quick else plans.STREAMS
    rates = () if is_chosen else plans.QUICK_RATES if options.quick else plans.RATES
    loads = plans.plan_loads(
        read_streams(shared.streams, MOST_STREAMS) if shared.streams is not None else streams,
        _read_rates(options.rates) if options.rates is not None else rates,
        options.arrivals or "poisson",
    )
    window_s = options.seconds or (plans.QUICK_WINDOW_S if options.quick else plans.WINDOW_S)
    warm_up_s = plans.QUICK_WARM_UP_S if options.quick else plans.WARM_UP_S
    timeout_s = options.timeout or plans.TIMEOUT_S
    stages = len(loads) + (RAMP_STAGES if options.ramp else 0)
    stages += options.quality or 0
    most_s = plans.QUICK_S if options.quick else stages * (window_s + warm_up_s + timeout_s)
    return plans.Plan(
        target=target,
        speaking=_speaking(url, target, options),
        texts=_texts(options),
        loads=loads,
        warm_up_s=warm_up_s if options.warm_up is None else options.warm_up,
        window_s=window_s,
        timeout_s=timeout_s,
        seconds=most_s if shared.minutes is None else 60 * shared.minutes,
        clients=options.clients or min(4, max(1, (os.cpu_count() or 1) // 2)),
        ramp_to=RAMP_TO if options.ramp else None,
        quality_texts=options.quality or 0,
        recordings=options.recordings,
    )


def _texts(options: ServerOptions) -> TextChoice:
    from rhapsode.bench.server.orders import Language, Level
    from rhapsode.bench.server.texts.bank import TextChoice

    levels = _names("--lengths", options.lengths, tuple(Level), tuple(Level))
    languages = _names("--languages", options.languages, tuple(Language), (Language.ENGLISH,))
    return TextChoice(options.seed or 0, tuple(map(Level, levels)), tuple(map(Language, languages)))


def _speaking(url: str, target: str, options: ServerOptions) -> Speaking:
    from rhapsode.bench.server.orders import Speaking
    from rhapsode.bench.server.wire.http import read_origin

    address = url.rstrip("/").removesuffix("/v1").rstrip("/")
    try:
        read_origin(address)
    except ValueError as error:
        raise Misuse(f"--url: {error}") from None
    return Speaking(
        address,
        _key(target, options.key_from),
        options.model,
        options.voice,
        options.instructions,
        dict(_parameter(text) for text in options.param or ()),
    )


def _key(target: str, variable: str | None) -> str | None:
    """No server is sent the key of another: of kinds that are not ours the variable has to be named."""
    if variable is not None:
        if not os.environ.get(variable):
            raise Misuse(f"--key-from: {variable} is not set")
        return os.environ[variable]
    own = read_settings().api_key if target.startswith("rhapsode") else None
    return own.get_secret_value() if own else None


def _parameter(text: str) -> tuple[str, JsonValue]:
    """What is no JSON is a text."""
    import json

    name, equals, value = text.partition("=")
    if not name or not equals:
        raise Misuse(f"--param: {text!r} is not NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _read_rates(option: str) -> tuple[float, ...]:
    try:
        numbers = tuple(sorted({float(part) for part in option.split(",")}))
    except ValueError:
        raise Misuse(f"--rates: {option!r} is no list of numbers such as 0.5,2,10") from None
    if not all(0 < number <= MOST_RATE for number in numbers):
        raise Misuse(f"--rates: above 0, up to {MOST_RATE:g}")
    return numbers


def _names(option: str, given: str | None, known: tuple[str, ...], otherwise: tuple[str, ...]) -> tuple[str, ...]:
    if given is None:
        return otherwise
    names = tuple(dict.fromkeys(given.split(",")))
    check_choices(option, names, known)
    return names
