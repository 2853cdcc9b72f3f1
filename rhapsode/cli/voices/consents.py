"""`rhapsode consents`: that speakers agree to be cloned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.clients import connected
from rhapsode.cli.failures import Misuse
from rhapsode.cli.for_each import deleted
from rhapsode.cli.formatting import counted
from rhapsode.cli.options import DataDirOption, JsonOption, ServerOption
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.contract.voices.consents import Consent

app = typer.Typer(help="That speakers agree to be cloned.", no_args_is_help=True, rich_markup_mode=None)

ConsentArgument = Annotated[str, typer.Argument(metavar="CONSENT", help="Its id, con_...")]


@app.command()
def add(
    statement: Annotated[str, typer.Option(help="What the speaker states.")] = "",
    recording: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The speaker stating it: wav, flac, mp3 or ogg, 1 to 60 s.")
    ] = None,
    speaker: Annotated[str, typer.Option(help="Whose voice it is about.")] = "",
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Lay down a consent. Prints what `voices add --consent` takes: con_..."""
    if not statement and recording is None:
        raise Misuse("a consent is a --statement, a --recording of it, or both")
    with connected(server, data_dir) as client:
        try:
            consent = client.consents.add(statement, recording, speaker=speaker)
        except OSError as error:
            raise Misuse(f"{recording} cannot be read: {error.strerror}") from error
    echo(consent.model_dump_json() if as_json else consent.id)


@app.command("list")
def list_consents(server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """List consents, the newest first."""
    with connected(server, data_dir) as client:
        for each in client.consents.list():
            kind = "recording" if each.recording else "statement"
            line = f"{each.id}\t{kind}\t{counted(each.voices, 'voice')}\t{each.speaker}"
            echo(each.model_dump_json() if as_json else line)


@app.command()
def show(
    consent: ConsentArgument, server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """Show a consent: what was said, by whom, when, and how many voices rest on it."""
    with connected(server, data_dir) as client:
        found = client.consents.get(consent)
    echo(found.model_dump_json(indent=2) if as_json else "\n".join(_lines(found)))


@app.command()
def rm(
    consent: ConsentArgument, server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """Delete a consent that no voice rests on."""
    with connected(server, data_dir) as client:
        client.consents.delete(consent)
    echo(deleted(consent).document if as_json else f"{consent} deleted")


def _lines(consent: Consent) -> list[str]:
    rows = [
        ("id", consent.id),
        ("speaker", consent.speaker),
        ("statement", consent.statement),
        ("sha256", consent.statement_sha256 or ""),
        ("laid down", f"{consent.created_at.astimezone():%Y-%m-%d %H:%M} by {consent.actor}"),
        ("voices", str(consent.voices)),
    ]
    if consent.recording:
        rows.insert(4, ("recording", f"{consent.recording.duration_s:g} s, sha256 {consent.recording.sha256}"))
    return [f"{name:<10} {value}" for name, value in rows if value]
