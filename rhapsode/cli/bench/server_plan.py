"""What `rhapsode bench --url` measures, from its options. Raises `Misuse` for those that do not go together."""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

from rhapsode.cli.bench.options import SharedOptions, read_streams
from rhapsode.cli.bench.server_options import ServerOptions
from rhapsode.cli.failures import Misuse
from rhapsode.cli.options import check_choices, read_settings

if TYPE_CHECKING:
    from pydantic import JsonValue

    from rhapsode.bench.server.load import RecordedLoad
    from rhapsode.bench.server.orders import SpeechTarget, Task, TextChoice, TextLevel
    from rhapsode.bench.server.plan import BenchPlan
    from rhapsode.bench.server.report import ServerReport

MOST_STREAMS = 10_000
MOST_RATE = 10_000.0
RAMP_TO = 4_096
MOST_REFERENCE_BYTES = 8 << 20
RAMP_STAGES = 16
"""More than needed: twelve doublings, then halvings."""


def make_plan(
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

    address = read_address("--url", url)
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


def read_address(option: str, url: str) -> str:
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
