"""`rhapsode doctor`: what is here, what is missing, and how to get it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from rhapsode.cli.failures import FAILED
from rhapsode.cli.options import CheckpointOption, DataDirOption, JsonOption, choose_data_dir, read_settings
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    import redis

    from rhapsode.settings import ClientSettings
    from rhapsode.stack.layout import DataDir
    from rhapsode.stack.planning.gpus import TorchGpu

FREE_SPACE_WANTED = 2 * 1024**3
SMALL_GPU = 16 * 10**9
CHECKPOINT_FILES = ("config.json", "model.safetensors", "vocab.json", "merges.txt", "speech_tokenizer/config.json")
MARKS = {"ok": "ok     ", "missing": "MISSING", "note": "note   "}


@dataclass(frozen=True, slots=True)
class MachineFinding:
    """kind: missing is needed for `rhapsode up` and makes the command fail; a note is for information.

    is_in_the_way: a note of what keeps `rhapsode up` from starting now.
    """

    kind: Literal["ok", "missing", "note"]
    subject: str
    detail: str
    remedy: str = ""
    is_in_the_way: bool = False


def doctor(data_dir: DataDirOption = None, checkpoint: CheckpointOption = None, as_json: JsonOption = False) -> None:
    """Find what this machine lacks to run Rhapsode. With --json: one JSON object per line."""
    settings = read_settings()
    folder = choose_data_dir(data_dir, settings)
    given = checkpoint or (Path(value) if (value := os.environ.get("RHAPSODE_CHECKPOINT")) else None)
    checks: tuple[Callable[[], Generator[MachineFinding]], ...] = (
        _python,
        _packages,
        _state_server,
        _torch,
        _vllm,
        lambda: _checkpoint(given, folder),
        lambda: _data_folder(folder.root),
        _files,
        lambda: _server(folder.root, settings.port),
        _settings,
        lambda: _processes(folder.root, settings, obstacles),
    )
    is_complete, obstacles = True, list[str]()
    for check in checks:
        for finding in check():
            is_complete = is_complete and finding.kind != "missing"
            if finding.kind == "missing" or finding.is_in_the_way:
                obstacles.append(finding.subject)
            if as_json:
                echo(json.dumps(asdict(finding)))
                continue
            echo(f"{MARKS[finding.kind]}  {finding.subject:<16} {finding.detail}")
            if finding.remedy:
                echo(f"{'':<25} -> {finding.remedy}")
    if not is_complete:
        raise typer.Exit(FAILED)


def _python() -> Generator[MachineFinding]:
    yield MachineFinding("ok", "Python", f"{sys.version.split()[0]} at {sys.executable}")
    yield MachineFinding("ok", "Rhapsode", version("rhapsode"))
    if sys.platform not in ("linux", "darwin"):
        yield MachineFinding("missing", "system", sys.platform, "Rhapsode runs on Linux and macOS")


def _packages() -> Generator[MachineFinding]:
    from rhapsode.cli.local.requirements import PARTS, install

    for part in PARTS:
        missing = part.missing()
        if missing:
            yield MachineFinding("missing", part.name, f"not installed: {', '.join(missing)}", install(part.extra))
        else:
            yield MachineFinding("ok", part.name, "all packages are installed")


def _state_server() -> Generator[MachineFinding]:
    if find_spec("redis") is None:
        # The packages that are missing were named already.
        return
    if url := os.environ.get("RHAPSODE_REDIS_URL"):
        yield from _external_redis(url)
        return
    from storage.database.embedded_valkey import ServerBinaryMissing, find_server_binary

    try:
        yield MachineFinding("ok", "Valkey", str(find_server_binary()))
    except ServerBinaryMissing as error:
        yield MachineFinding("missing", "Valkey", "no server to run", str(error))


def _external_redis(url: str) -> Generator[MachineFinding]:
    import redis

    from storage.database.schema_version import StateUnusable, check_server
    from storage.runtime.config.tls import TlsFiles

    names = ("RHAPSODE_TLS_CA", "RHAPSODE_TLS_CERTIFICATE", "RHAPSODE_TLS_KEY")
    ca, certificate, key = (Path(os.environ[name]) if os.environ.get(name) else None for name in names)
    times = {"socket_timeout": 3, "socket_connect_timeout": 3}
    try:
        with _client_of(TlsFiles(ca, certificate, key).redis_url(url), times) as client:
            check_server(client, os.environ.get("RHAPSODE_KEY_PREFIX", "rhapsode"))
    except (StateUnusable, redis.RedisError, ValueError) as error:
        yield MachineFinding("missing", "Redis", f"RHAPSODE_REDIS_URL: {error}", "correct it, or unset the variable")
    else:
        yield MachineFinding("ok", "Redis", "the server of RHAPSODE_REDIS_URL answers")


def _client_of(url: str, times: Mapping[str, int]) -> redis.Redis:
    """Raises `ValueError`."""
    import redis

    from storage.database.failover import failover_pool
    from storage.runtime.config.sentinel_url import is_sentinel_url, parse_sentinel_url

    if is_sentinel_url(url):
        return redis.Redis.from_pool(failover_pool(parse_sentinel_url(url), **times))
    return redis.Redis.from_url(url, **times)


def _torch() -> Generator[MachineFinding]:
    if find_spec("torch") is None:
        return
    from rhapsode.stack.planning.gpus import TorchUnusable, ask_torch

    try:
        facts = ask_torch()
    except TorchUnusable as error:
        yield MachineFinding("missing", "torch", str(error), "install it again")
        return
    yield MachineFinding("ok", "torch", f"{facts.version}, {facts.threads} CPU threads")
    if facts.gpus:
        yield MachineFinding("ok", "CUDA", ", ".join(gpu.name for gpu in facts.gpus))
        yield from models_that_fit(min(facts.gpus, key=lambda gpu: gpu.memory_bytes))
    else:
        yield MachineFinding("note", "CUDA", "no GPU is visible: the model runs on the CPU")


def _vllm() -> Generator[MachineFinding]:
    """Of interest to who chose the engine, and to who has vLLM."""
    from worker.engine.vllm.supported_versions import complaint, installed

    is_chosen, found, reason = os.environ.get("RHAPSODE_ENGINE") == "vllm", installed(), complaint()
    if reason is not None and is_chosen:
        subject, _, remedy = reason.partition(": ")
        yield MachineFinding("missing", "vLLM", subject, remedy)
    elif reason is not None and found is not None:
        yield MachineFinding("note", "vLLM", reason)
    elif found is not None:
        detail = "RHAPSODE_ENGINE=vllm chose it" if is_chosen else "RHAPSODE_ENGINE=vllm would choose it"
        yield MachineFinding("ok", "vLLM", f"{' '.join(found)}; {detail}")


def models_that_fit(gpu: TorchGpu) -> Generator[MachineFinding]:
    from rhapsode.stack.models import BYTES_OF_SIZE, slots_beside_live, slots_on
    from worker.engine.settings import GPU_SLOTS

    said: list[str] = []
    for size in BYTES_OF_SIZE:
        most = slots_on(gpu.memory_bytes, size)
        slots, live = slots_beside_live(gpu.memory_bytes, size, GPU_SLOTS, None)
        room = f"fits with about {most} slots (unset: {slots} and {live} live)" if most else "does not fit"
        said.append(f"{size} {room}")
    yield MachineFinding("ok", "CUDA", f"Qwen3-TTS on {gpu.name}: {', '.join(said)}")
    if gpu.memory_bytes < SMALL_GPU:
        carried = "4, 8 or 16 CPU cores then carry 6.4, 7.9 or 9.1 times real time"
        yield MachineFinding("ok", "CUDA", f"RHAPSODE_DECODER_DEVICE=cpu leaves it to the CPU: {carried}")


def _checkpoint(given: Path | None, data_dir: DataDir) -> Generator[MachineFinding]:
    from rhapsode.stack.errors import ModelNotPulled, ModelUnfit
    from rhapsode.stack.models import checkpoint_named
    from worker.engine.kokoro.files import VOICES_FILE, is_kokoro, obstacle, unnamed_checkpoint
    from worker.engine.model.pulled import ALIGNER, PACKAGED, VOICES_MISSING

    if not ALIGNER.is_dir():
        yield MachineFinding("missing", "checkpoint", f"{ALIGNER} is not there", VOICES_MISSING)
    try:
        given = given and Path(checkpoint_named(str(given), data_dir))
    except (ModelNotPulled, ModelUnfit) as error:
        detail, _, remedy = str(error).partition(": ")
        is_pulled_later = isinstance(error, ModelNotPulled) and error.may_be_pulled
        yield MachineFinding("note" if is_pulled_later else "missing", "checkpoint", detail, remedy)
        return
    engine, device = os.environ.get("RHAPSODE_ENGINE", "native"), os.environ.get("RHAPSODE_DEVICE", "cpu")
    folder = PACKAGED.get(str(given), given) or unnamed_checkpoint(engine, device)
    files = (VOICES_FILE,) if is_kokoro(folder) else CHECKPOINT_FILES
    missing = [name for name in files if not os.access(folder / name, os.R_OK)]
    if missing:
        layout = "--checkpoint or RHAPSODE_CHECKPOINT names a folder in the published layout, or a pulled model"
        remedy = VOICES_MISSING if folder in PACKAGED.values() else layout
        yield MachineFinding("missing", "checkpoint", f"{folder} lacks {', '.join(missing)}", remedy)
    elif (is_kokoro(folder) or given is None) and (reason := obstacle()):
        kind = "missing" if is_kokoro(folder) else "note"
        yield MachineFinding(kind, "checkpoint", f"{folder}; Kokoro cannot speak here", reason)
    else:
        yield MachineFinding("ok", "checkpoint", str(folder))


def _data_folder(folder: Path) -> Generator[MachineFinding]:
    from rhapsode.stack.errors import DataFolderOutdated, DataFolderUnnamable
    from rhapsode.stack.folder_format import refuse_outdated
    from rhapsode.stack.ground import refuse_unnamable
    from rhapsode.stack.layout import DataDir

    try:
        refuse_unnamable(folder)
    except DataFolderUnnamable as error:
        yield MachineFinding("missing", "data folder", str(error))
        return
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        yield MachineFinding("missing", "data folder", f"{folder} cannot be written", "choose another with --data-dir")
        return
    try:
        refuse_outdated(DataDir(folder))
    except (DataFolderOutdated, OSError) as error:
        yield MachineFinding("missing", "data folder", str(error))
        return
    yield MachineFinding("ok", "data folder", f"{folder}{'' if existing == folder else ' (not there yet)'}")
    free = shutil.disk_usage(existing).free
    detail = f"{free / 1024**3:.1f} GiB free"
    if free < FREE_SPACE_WANTED:
        yield MachineFinding("missing", "disk", detail, "an hour of speech takes 0.35 GiB while it is made; make room")
    else:
        yield MachineFinding("ok", "disk", detail)


def _files() -> Generator[MachineFinding]:
    from rhapsode.stack.errors import TooFewFiles
    from rhapsode.stack.ground import refuse_few_files

    try:
        refuse_few_files()
    except TooFewFiles as error:
        yield MachineFinding("missing", "open files", str(error), "ulimit -n, or LimitNOFILE= of systemd")


def _processes(folder: Path, settings: ClientSettings, obstacles: Sequence[str]) -> Generator[MachineFinding]:
    """What `rhapsode up` would start here, and why. obstacles: what keeps it from starting anything."""
    from rhapsode.cli.local.plan_table import machine_line, plan_lines
    from rhapsode.stack.errors import PlanRefused
    from rhapsode.stack.options import StackOptions
    from rhapsode.stack.planning.this_machine import plan_stack
    from rhapsode.stack.state_file import Lifetime

    options = StackOptions(
        folder, api_processes=settings.api_processes, cpu_workers=settings.cpu_workers, lifetime=Lifetime.SERVER
    )
    try:
        plan = plan_stack(options, os.environ)
    except PlanRefused as error:
        yield MachineFinding("missing", "processes", str(error), "correct or unset it")
        return
    yield MachineFinding("ok", "machine", machine_line(plan.machine))
    if obstacles:
        subjects = ", ".join(dict.fromkeys(obstacles))
        yield MachineFinding("note", "would start", f"nothing because of: {subjects}; otherwise:")
    for number, line in enumerate(plan_lines(plan)):
        yield MachineFinding("note" if obstacles else "ok", "" if number or obstacles else "would start", line)


def _server(folder: Path, port: int) -> Generator[MachineFinding]:
    from rhapsode.stack.layout import DataDir
    from rhapsode.stack.state_file import read_state

    state = read_state(DataDir(folder))
    if state is not None and state.is_alive():
        yield MachineFinding("ok", "server", f"runs at {state.url} (process {state.pid})", is_in_the_way=True)
        return
    yield MachineFinding("note", "server", "none runs on this data folder; `rhapsode up` starts one")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            detail = f"{port}: {error.strerror}; `rhapsode up --port 0` picks a free one"
            yield MachineFinding("note", "port", detail, is_in_the_way=True)
        else:
            yield MachineFinding("ok", "port", f"{port} is free")


def _settings() -> Generator[MachineFinding]:
    if find_spec("redis") is None:
        return
    from rhapsode.stack.backing import refuse_unknown
    from rhapsode.stack.errors import SettingsRefused

    try:
        refuse_unknown(os.environ)
    except SettingsRefused as error:
        yield MachineFinding("missing", "settings", str(error), "correct or unset it")
