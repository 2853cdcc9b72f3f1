"""`rhapsode config`: settings of processes on this machine, and their sources."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from rhapsode.cli.failures import FAILED
from rhapsode.cli.options import DataDirOption, JsonOption, choose_data_dir, read_settings
from rhapsode.cli.tables import print_rows
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.stack.layout import DataDir
    from storage.runtime.config.settings import StorageSettings
    from storage.runtime.config.sources import SettingInEffect

app = typer.Typer(help="Show all settings with their sources.", no_args_is_help=True, rich_markup_mode=None)

ProcessName = Literal["command-line", "api", "gpu-worker", "cpu-worker", "hooks-worker", "janitor"]

HEADINGS = ("setting", "value", "from", "of")
UP = "rhapsode up"
NOTHING = "-"


@app.callback()
def config() -> None:
    """Keeps `show` a subcommand."""


@app.command()
def show(
    process: Annotated[
        ProcessName | None, typer.Argument(metavar="[PROCESS]", help=f"Of {', '.join(get_args(ProcessName))}.")
    ] = None,
    given: Annotated[bool, typer.Option("--given", help="Only settings that differ from the default.")] = False,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show settings and sources, without secrets.

    Without a name it shows the command line and all processes of `rhapsode up`. It marks values that `rhapsode up`
    chooses. The exit status is 1 if a process cannot start with these settings.
    """
    settings = read_settings()
    folder = choose_data_dir(data_dir, settings)
    wanted: tuple[ProcessName, ...] = (process,) if process else get_args(ProcessName)
    read = [_read(name, folder) for name in wanted]
    processes: dict[SettingInEffect, list[str]] = {}
    for each in read:
        for setting in each.settings:
            processes.setdefault(setting, []).append(each.process)
    shown = [each for each in sorted(processes, key=lambda each: each.name) if not given or each.source != "default"]
    if as_json:
        for each in shown:
            facts = {"setting": each.name, "value": each.value or None, "source": each.source}
            echo(json.dumps(facts | {"processes": processes[each]}))
    else:
        cells = [(each.name, each.value or NOTHING, each.source, ", ".join(processes[each])) for each in shown]
        print_rows(HEADINGS, cells)
    complaints = list(dict.fromkeys(each.complaint for each in read if each.complaint))
    for complaint in complaints:
        echo(f"rhapsode: {complaint}", err=True)
    if complaints:
        raise typer.Exit(FAILED)


@dataclass(frozen=True, slots=True)
class _Read:
    """Settings of a process, or a complaint if it cannot start."""

    process: str
    settings: tuple[SettingInEffect, ...] = ()
    complaint: str = ""


def _read(process: ProcessName, folder: DataDir) -> _Read:
    from rhapsode.cli.local.requirements import require_packages
    from storage.runtime.config.sources import settings_in_effect

    if process == "command-line":
        return _Read(process, tuple(settings_in_effect(read_settings(), os.environ, {}, UP)))
    require_packages("worker" if process in ("gpu-worker", "cpu-worker") else "api")
    from storage.runtime.config.settings import SettingsError, load_settings

    settings_class = _settings_class(process)
    supplied = {name: said for name, said in _decided_by_up(process, folder).items() if not _is_given(name)}
    if "redis_url" not in supplied:
        # Another server's broker is a database of that server.
        supplied.pop("broker_url", None)
    used = {name: value for name, (value, _) in supplied.items() if name in settings_class.model_fields}
    try:
        settings = load_settings(settings_class, used)
    except SettingsError as error:
        return _Read(process, complaint=f"{process}: {error}")
    shown = {name: shown for name, (_, shown) in supplied.items()}
    return _Read(process, tuple(settings_in_effect(settings, os.environ, shown, UP)))


def _settings_class(process: ProcessName) -> type[StorageSettings]:
    match process:
        case "api" | "command-line":
            from api.settings import ApiSettings as Settings
        case "gpu-worker":
            from worker.settings import WorkerSettings as Settings
        case "cpu-worker":
            from worker.settings import CpuWorkerSettings as Settings
        case "hooks-worker":
            from worker.webhooks.settings import HookSettings as Settings
        case "janitor":
            from worker.settings import ItemSettings as Settings
    return Settings


def _decided_by_up(process: ProcessName, folder: DataDir) -> Mapping[str, tuple[str, str]]:
    """What `rhapsode.stack.processes` gives its processes: a valid value, and its description."""
    from rhapsode.stack.options import StackOptions
    from rhapsode.stack.planning.wishes import wishes_of
    from rhapsode.stack.state_file import Lifetime
    from worker.engine.cuda.memory_plan import MOST_LIVE_SLOTS
    from worker.engine.settings import GPU_SLOTS, LIVE_SLOTS, SLOTS

    devices = wishes_of(StackOptions(folder.root, lifetime=Lifetime.SERVER), os.environ).devices
    objects = folder.objects.as_uri()
    drawn = f"(drawn into {folder.root})"
    socket = f"the Valkey in {folder.valkey}"
    decided = {
        "store": (objects, objects),
        "redis_url": ("redis://127.0.0.1:6379/0", socket),
        "broker_url": ("redis://127.0.0.1:6379/1", socket),
        "url_secret": ("x" * 16, drawn),
        "webhook_key": ("x" * 16, drawn),
    }
    if process in ("gpu-worker", "cpu-worker"):
        decided["worker_name"] = ("", "a name for each")
        decided["slots"] = (str(SLOTS), f"{SLOTS}, on a GPU up to {GPU_SLOTS}")
        decided["live_slots"] = (str(LIVE_SLOTS), f"{LIVE_SLOTS}, on a GPU up to {MOST_LIVE_SLOTS}")
    if process == "gpu-worker":
        decided["device"] = ("cpu", ", ".join(devices) or "each GPU, else cpu")
    return decided


def _is_given(field: str) -> bool:
    from storage.runtime.config.setting_files import SUFFIX
    from storage.runtime.config.sources import ENV_PREFIX

    names = {name.upper() for name, value in os.environ.items() if value}
    name = f"{ENV_PREFIX}{field.upper()}"
    return name in names or f"{name}{SUFFIX}" in names
