"""`rhapsode bench --url URL`: speed and quality of a running server."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rhapsode.cli.bench.options import SharedOptions, read_streams
from rhapsode.cli.failures import FAILED, Misuse, status_of, terminated_like_interrupted
from rhapsode.cli.formatting import clock
from rhapsode.cli.local.requirements import require_packages
from rhapsode.cli.options import check_choices, read_settings
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from pydantic import JsonValue

    from rhapsode.bench.server.load import RecordedLoad
    from rhapsode.bench.server.orders import SpeechTarget, Task, TextChoice, TextLevel
    from rhapsode.bench.server.plan import BenchPlan
    from rhapsode.bench.server.report import ServerReport
    from rhapsode.bench.server.run import Tell

MOST_STREAMS = 10_000
MOST_RATE = 10_000.0
RAMP_TO = 4_096
MOST_REFERENCE_BYTES = 8 << 20
WORSE_THAN = 1.25
RAMP_STAGES = 16
"""More than needed: twelve doublings, then halvings."""
PatternName = Literal["poisson", "even"]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """A running server, with --url."""

    target: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Kind of server: rhapsode (default), rhapsode-live, rhapsode-jobs, openai, kokoro, vllm-omni, "
            "sglang-omni, nari or nari-live.",
        ),
    ] = None
    model: Annotated[str | None, typer.Option(help="Send this with each request. Default: the server chooses.")] = None
    voice: Annotated[str | None, typer.Option(help="Send this with each request. Default: the server chooses.")] = None
    instructions: Annotated[str | None, typer.Option(help="Speaking style, or the voice to design.")] = None
    task: Annotated[
        str | None,
        typer.Option(
            metavar="TASK",
            help="custom-voice, voice-design (with --instructions), x-vector or in-context (with --reference). "
            "Default: the server chooses.",
        ),
    ] = None
    reference: Annotated[
        Path | None,
        typer.Option(
            metavar="WAV", help="A recording: --task clones its voice, and --quality compares voices with it."
        ),
    ] = None
    reference_text: Annotated[str | None, typer.Option(help="The words of the recording, for in-context.")] = None
    param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=JSON", help="Another field of each request, such as seed=7. Repeatable."),
    ] = None
    key_from: Annotated[
        str | None,
        typer.Option(metavar="VARIABLE", help="Environment variable with the key. For Rhapsode: RHAPSODE_API_KEY."),
    ] = None
    rates: Annotated[
        str | None, typer.Option(metavar="N,N...", help="Requests per second. Each number is one measurement.")
    ] = None
    arrivals: Annotated[
        PatternName | None, typer.Option(help="Spacing of requests with --rates: poisson (default), or even.")
    ] = None
    recorded: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Replay recorded requests: one line for each, with its second.")
    ] = None
    ramp: Annotated[
        bool, typer.Option("--ramp", help="Find the largest number of streams without buffer underruns.")
    ] = False
    buffer: Annotated[
        float | None, typer.Option(min=0, max=10_000, help="Playback buffer in ms for counting underruns. Default: 0.")
    ] = None
    seconds: Annotated[float | None, typer.Option(min=1, max=3600, help="Length of a measurement. Default: 20.")] = None
    warm_up: Annotated[
        float | None, typer.Option(min=0, max=3600, help="Uncounted seconds before each measurement. Default: 5.")
    ] = None
    lengths: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Lengths of texts: short,medium,long. Default: all.")
    ] = None
    languages: Annotated[str | None, typer.Option(metavar="NAMES", help="Languages: en,zh,mixed. Default: en.")] = None
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of texts and arrivals. Default: 0.")] = None
    clients: Annotated[
        int | None, typer.Option(min=1, max=64, help="Client processes. Default: one for two cores, at most 4.")
    ] = None
    quality: Annotated[
        int | None, typer.Option(min=1, max=1000, metavar="N", help="Number of texts to rate, each spoken twice.")
    ] = None
    whisper: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Weights of faster-whisper for --quality, which read Chinese too."),
    ] = None
    recordings: Annotated[Path | None, typer.Option(metavar="DIR", help="Save the recordings of --quality here.")] = (
        None
    )
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write an HTML page with plots. It needs no network.")
    ] = None
    continue_: Annotated[bool, typer.Option("--continue", help="Add missing measurements to --json.")] = False
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="URL|REPORT",
            help="Compare with a server, in turns, or with a report. The exit status is 1 if --url is worse.",
        ),
    ] = None
    worse_than: Annotated[
        float | None,
        typer.Option(min=1, max=100, help="With --baseline: the factor that counts as worse. Default: 1.25."),
    ] = None
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure for 90 seconds, with texts for the server's speed.")
    ] = False


def bench_server(url: str, options: ServerOptions, shared: SharedOptions) -> None:
    from rhapsode.bench.server.run import check_speaks
    from rhapsode.bench.server.text_report import text_report

    _check_together(options)
    earlier = _earlier_report(options.baseline)
    plan = _plan(url, options, shared, earlier)
    if options.baseline is not None and earlier is None:
        _bench_in_turns(plan, options, shared)
        return
    report = _report(plan, options, shared)
    if options.continue_:
        report = _continued(report, plan, shared.json)
    check_speaks(plan)
    _save(report, shared.json, options.html)  # an unwritable path fails before the measurement
    if options.quick and earlier is None:
        plan = _plan(url, options, shared, char_s=check_speaks(plan, 1))
        report = _report(plan, options, shared)
    status = _measure(report, plan, shared.json)
    echo(text_report(report), nl=False)
    _save(report, shared.json, options.html)
    is_worse = earlier is not None and _tell_difference(earlier, report, options.worse_than)
    if status or is_worse or not any(stage.summary.whole for stage in report.stages):
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
        plan = _plan(plan.speaking.url, options, shared, char_s=slower_s)
        other = _of_baseline(plan, options)
    report, baseline = _report(plan, options, shared), _report(other, options, shared)
    report.baseline = baseline
    _save(report, shared.json, options.html)
    status = _run_with_lines(lambda tell: run_in_turns((report, baseline), (plan, other), tell))
    echo(text_report(report), nl=False)
    _save(report, shared.json, options.html)
    is_worse = _tell_difference(baseline, report, options.worse_than)
    if status or is_worse or not all(stage.summary.whole for each in (report, baseline) for stage in each.stages):
        raise typer.Exit(status or FAILED)


def _of_baseline(plan: BenchPlan, options: ServerOptions) -> BenchPlan:
    return replace(plan, speaking=replace(plan.speaking, url=_address("--baseline", options.baseline or "")))


def _tell_difference(baseline: ServerReport, report: ServerReport, worse_than: float | None) -> bool:
    """Whether a figure is surely worse. The baseline comes first, so that a ratio above 1 is this server's change."""
    from rhapsode.bench.server.compare import compare, text_comparison

    found, factor = compare(baseline, report), worse_than or WORSE_THAN
    echo(f"\nThe first column is the baseline, the second is this server:\n{text_comparison(found)}", nl=False)
    worse = [f"{each.load}: {each.figure}" for each in found.differences if each.is_worse_by(factor)]
    for each in worse:
        echo(f"WORSE by more than {factor:g} times: {each}")
    return bool(worse)


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

    return _run_with_lines(lambda tell: run_all(report, plan, tell, keep=lambda: _save(report, json, None)))


def _run_with_lines(measure: Callable[[Tell], None]) -> int:
    began_s = time.monotonic()
    try:
        with terminated_like_interrupted():
            measure(lambda line: echo(f"[{clock(time.monotonic() - began_s)}] {line}", err=True))
    except KeyboardInterrupt as interrupt:
        return status_of(interrupt)
    return 0


def _save(report: ServerReport, json: Path | None, html: Path | None) -> None:
    from rhapsode.bench.server.page import write_page

    if json is not None:
        report.write(json)
    if html is not None:
        write_page(report, html)


def _plan(
    url: str,
    options: ServerOptions,
    shared: SharedOptions,
    earlier: ServerReport | None = None,
    char_s: float = 0.0,
) -> BenchPlan:
    """earlier: whose texts and loads are measured again. char_s: the server's seconds for each character, with --quick;
    0: not known yet.
    """
    from rhapsode.bench.server import plan as plans
    from rhapsode.bench.server.run import ROUNDS
    from rhapsode.bench.server.targets import TARGETS
    from worker.engine.cores import usable_cores

    target = options.target or "rhapsode"
    check_choices("--target", [target], TARGETS)
    in_turns = options.baseline is not None and earlier is None
    quick = (
        (plans.QUICK_TURN_WARM_UP_S, plans.QUICK_TURN_S) if in_turns else (plans.QUICK_WARM_UP_S, plans.QUICK_WINDOW_S)
    )
    warm_up_s, whole_s = quick if options.quick else (plans.WARM_UP_S, plans.WINDOW_S)
    window_s = options.seconds or whole_s
    counted_s = window_s * (ROUNDS if in_turns else 1)
    texts = _texts(options, plans.quick_levels(char_s, counted_s) if options.quick else None, earlier)
    is_chosen = options.ramp or any(each is not None for each in (shared.streams, options.rates, options.recorded))
    if earlier is not None and not is_chosen:
        loads = tuple(stage.load for stage in earlier.stages)
    else:
        streams = () if is_chosen else plans.QUICK_STREAMS if options.quick else plans.STREAMS
        quick_rates = () if in_turns else (plans.quick_rate(char_s, texts.levels),)
        rates = () if is_chosen else quick_rates if options.quick else plans.RATES
        loads = plans.plan_loads(
            read_streams(shared.streams, MOST_STREAMS) if shared.streams is not None else streams,
            _read_rates(options.rates) if options.rates is not None else rates,
            options.arrivals or "poisson",
        )
    if options.recorded is not None:
        loads = (*loads, _recorded(options.recorded))
    timeout_s = plans.TIMEOUT_S
    stages = len(loads) + (RAMP_STAGES if options.ramp else 0)
    stages += options.quality or 0
    stages *= 2 * ROUNDS if in_turns else 1
    most_s = plans.QUICK_S if options.quick else stages * (window_s + warm_up_s + timeout_s)
    return plans.BenchPlan(
        target=target,
        speaking=_speaking(url, target, options),
        texts=texts,
        loads=loads,
        warm_up_s=warm_up_s if options.warm_up is None else options.warm_up,
        window_s=window_s,
        timeout_s=timeout_s,
        seconds=most_s if shared.minutes is None else 60 * shared.minutes,
        clients=options.clients or min(4, max(1, usable_cores() // 2)),
        ramp_to=RAMP_TO if options.ramp else None,
        quality_texts=options.quality or 0,
        recordings=options.recordings,
        like=options.reference,
        whisper=options.whisper,
    )


def _texts(options: ServerOptions, quick: tuple[TextLevel, ...] | None, earlier: ServerReport | None) -> TextChoice:
    from rhapsode.bench.server.orders import Language, TextChoice, TextLevel

    usual = TextChoice(levels=quick) if quick else TextChoice()
    if earlier is not None:
        usual = TextChoice(earlier.asked.seed, earlier.asked.levels, earlier.asked.languages)
    levels = _names("--lengths", options.lengths, tuple(TextLevel), usual.levels)
    languages = _names("--languages", options.languages, tuple(Language), usual.languages)
    seed = usual.seed if options.seed is None else options.seed
    return TextChoice(seed, tuple(map(TextLevel, levels)), tuple(map(Language, languages)))


def _speaking(url: str, target: str, options: ServerOptions) -> SpeechTarget:
    from rhapsode.bench.server.orders import SpeechTarget
    from rhapsode.bench.server.targets import TARGETS

    address = _address("--url", url)
    task = _task(options)
    speaking = SpeechTarget(
        address,
        _key(target, options.key_from),
        options.model,
        options.voice,
        options.instructions,
        task,
        _data_url(options.reference) if options.reference is not None and task and task.is_of_recording else None,
        options.reference_text,
        dict(_parameter(text) for text in options.param or ()),
    )
    if task is not None and task not in TARGETS[target](speaking).tasks:
        raise Misuse(f"--task: {target} does not support {task}; try --param")
    return speaking


def _address(option: str, url: str) -> str:
    from rhapsode.bench.server.connections import read_origin

    address = url.rstrip("/").removesuffix("/v1").rstrip("/")
    try:
        read_origin(address)
    except ValueError as error:
        raise Misuse(f"{option}: {error}") from None
    return address


def _recorded(path: Path) -> RecordedLoad:
    from rhapsode.bench.server.plan import read_recorded

    try:
        return read_recorded(path)
    except ValueError as error:
        raise Misuse(f"--recorded: {path}: {error}") from None


def _task(options: ServerOptions) -> Task | None:
    """The task. Raises `Misuse` for missing and superfluous options."""
    from rhapsode.bench.server.orders import Task

    if options.task is None:
        if options.reference_text is not None or (options.reference is not None and options.quality is None):
            raise Misuse("--reference needs --task or --quality")
        return None
    check_choices("--task", [options.task], tuple(Task))
    task = Task(options.task)
    if task is Task.VOICE_DESIGN and options.instructions is None:
        raise Misuse("--task voice-design needs --instructions")
    if task.is_of_recording and options.reference is None:
        raise Misuse(f"--task {task} needs --reference")
    if (task is Task.IN_CONTEXT) != (options.reference_text is not None):
        raise Misuse("--reference-text and --task in-context need each other")
    return task


def _data_url(recording: Path) -> str:
    """As in each request."""
    data = recording.read_bytes()
    if len(data) > MOST_REFERENCE_BYTES:
        raise Misuse(f"--reference: {recording} has more than {MOST_REFERENCE_BYTES >> 20} MiB")
    return f"data:audio/wav;base64,{b64encode(data).decode()}"


def _digest(recording: Path | None) -> str | None:
    return None if recording is None else hashlib.sha256(recording.read_bytes()).hexdigest()


def _key(target: str, variable: str | None) -> str | None:
    """Other kinds of servers never get our key: --key-from names theirs."""
    if variable is not None:
        if not os.environ.get(variable):
            raise Misuse(f"--key-from: {variable} is not set")
        return os.environ[variable]
    own = read_settings().api_key if target.startswith("rhapsode") else None
    return own.get_secret_value() if own else None


def _parameter(text: str) -> tuple[str, JsonValue]:
    """Other values than JSON are texts."""
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
        raise Misuse(f"--rates: {option!r} is not a list of numbers such as 0.5,2,10") from None
    if not all(0 < number <= MOST_RATE for number in numbers):
        raise Misuse(f"--rates: above 0, up to {MOST_RATE:g}")
    return numbers


def _names(option: str, given: str | None, known: tuple[str, ...], otherwise: tuple[str, ...]) -> tuple[str, ...]:
    if given is None:
        return otherwise
    names = tuple(dict.fromkeys(given.split(",")))
    check_choices(option, names, known)
    return names


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
