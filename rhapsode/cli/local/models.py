"""`rhapsode models`: published checkpoints on this machine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rhapsode.cli.failures import Misuse, status_of, terminated_like_interrupted
from rhapsode.cli.options import DataDirOption, JsonOption, choose_data_dir, read_settings
from rhapsode.cli.tables import print_rows
from rhapsode.cli.visible import echo
from rhapsode.stack.errors import ModelNotPulled, ModelUnfit
from rhapsode.stack.layout import DataDir
from rhapsode.stack.models import PUBLISHED, num_bytes

app = typer.Typer(help="Fetch published checkpoints of Qwen3-TTS.", no_args_is_help=True, rich_markup_mode=None)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="As `rhapsode models list` shows it.")]


@app.command("list")
def list_models(data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """List the published checkpoints and what is on this machine."""
    folder = _data_dir(data_dir).models
    rows = [(name, PUBLISHED[name], f"{num_bytes(name) / 1e9:.1f} GB", _state(folder / name)) for name in PUBLISHED]
    headings = ("name", "repository", "size", "state")
    if as_json:
        for row in rows:
            echo(json.dumps(dict(zip(headings, row, strict=True))))
        return
    print_rows(headings, rows)


@app.command()
def pull(
    name: NameArgument,
    revision: Annotated[str | None, typer.Option(help="A commit of the repository. Default: the newest.")] = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Download a checkpoint and verify it. An interrupted download continues.

    Hugging Face's variables hold: HF_TOKEN, HF_ENDPOINT for a mirror, HF_HUB_OFFLINE.
    """
    chosen = _data_dir(data_dir)
    _refuse_unknown(name)
    fetch(name, chosen, revision)
    said = f"{chosen.models / name} is whole; use it with RHAPSODE_CHECKPOINT={name}"
    echo(json.dumps({"name": name, "folder": str(chosen.models / name)}) if as_json else said)


def fetch(
    name: str,
    data_dir: DataDir,
    revision: str | None = None,
    say: Callable[[str], object] = partial(echo, err=True),
    is_wanted: Callable[[], bool] = lambda: True,
) -> None:
    """Like `pull_model`. An interruption ends the command with its exit status, and says how to continue."""
    from rhapsode.cli.local.requirements import require_packages

    require_packages("worker")
    from rhapsode.cli.local.pulling import pull_model

    try:
        with terminated_like_interrupted():
            pull_model(name, data_dir.models / name, revision, say, is_wanted)
    except KeyboardInterrupt as interrupt:
        say(f"rhapsode: interrupted; `rhapsode models pull {name}` continues")
        raise typer.Exit(status_of(interrupt)) from None


@app.command()
def verify(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Default: all on this machine.")] = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare every file with its SHA-256 when it was downloaded."""
    folder = _data_dir(data_dir).models
    if name is not None:
        _refuse_unknown(name)
    faults = list[str]()
    for each in [name] if name else [known for known in PUBLISHED if (folder / known).exists()]:
        found = _faults(each, folder / each)
        if as_json:
            echo(json.dumps({"name": each, "faults": found}))
        elif not found:
            echo(f"{each}: every file is as it was downloaded")
        faults += found
    if faults:
        raise ModelUnfit("; ".join(faults))


@app.command()
def rm(name: NameArgument, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """Remove a checkpoint from this machine."""
    _refuse_unknown(name)
    folder = _data_dir(data_dir).models / name
    if not folder.is_dir():
        raise ModelNotPulled(name)
    shutil.rmtree(folder)
    echo(json.dumps({"name": name, "removed": True}) if as_json else f"{folder} removed")


def _faults(name: str, folder: Path) -> list[str]:
    from worker.engine.errors import CheckpointError
    from worker.engine.model.pulled import read_pulled

    try:
        pulled = read_pulled(folder)
    except CheckpointError as error:
        return [str(error)]
    return list(pulled.faults(folder)) if pulled else [str(ModelNotPulled(name))]


def _state(folder: Path) -> str:
    from worker.engine.errors import CheckpointError
    from worker.engine.model.pulled import read_pulled

    try:
        pulled = read_pulled(folder)
    except CheckpointError:
        return "broken: pull it again"
    if pulled:
        return f"here, revision {pulled.revision[:8]}"
    return "incomplete: pull it again" if folder.exists() else ""


def _data_dir(option: Path | None) -> DataDir:
    return choose_data_dir(option, read_settings())


def _refuse_unknown(name: str) -> None:
    """Raises `Misuse`."""
    if name not in PUBLISHED:
        raise Misuse(f"{name!r} is none of the published models: {', '.join(PUBLISHED)}")
