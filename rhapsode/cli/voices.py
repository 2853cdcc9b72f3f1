"""`rhapsode voices`: whose voice the server can speak with."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rhapsode.cli.clients import connected
from rhapsode.cli.options import DataDirOption, JsonOption, ServerOption

if TYPE_CHECKING:
    from rhapsode.voice_resources import Voice

app = typer.Typer(help="Add, list, show, export and remove voices.", no_args_is_help=True, rich_markup_mode=None)

VoiceArgument = Annotated[str, typer.Argument(metavar="VOICE", help="A voice's name, or its id, voc_...")]
VoicesArgument = Annotated[list[str], typer.Argument(metavar="VOICE...", help="Names or ids of voices")]
ConsentOption = Annotated[
    str, typer.Option(metavar="STATEMENT", help="That the speaker agrees; kept with its time. Required by the server.")
]


@app.command()
def add(
    recording: Annotated[Path, typer.Argument(metavar="FILE", help="wav, flac, mp3 or ogg, 1 to 60 s")],
    name: Annotated[str, typer.Option(help="What jobs will call the voice.")],
    consent: ConsentOption,
    ref_text: Annotated[str, typer.Option(metavar="TEXT", help="What the recording says, word by word.")] = "",
    language: Annotated[str, typer.Option(help="The language of the recording.")] = "auto",
    description: Annotated[str, typer.Option(help="Anything worth remembering.")] = "",
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Upload a recording as a voice. A file of an exported embedding (.safetensors) will do too."""
    _require_file(recording)
    with connected(server, data_dir) as client:
        if recording.suffix == ".safetensors":
            made = client.voices.add_embedding(name, recording.read_bytes(), consent=consent, description=description)
        else:
            made = client.voices.add(
                name, recording, consent=consent, ref_text=ref_text, language=language, description=description
            )
    typer.echo(made.model_dump_json() if as_json else f"{made.id} {made.name}")


@app.command("list")
def list_voices(
    kind: Annotated[Literal["own", "built_in"] | None, typer.Option(help="Only these.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 100,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """List voices: those of the models, then yours, newest first; with --json one JSON object a line."""
    from itertools import islice

    with connected(server, data_dir) as client:
        found = list(islice(client.voices.list(kind, page_size=min(limit, 100)), limit))
    if as_json:
        for voice in found:
            typer.echo(voice.model_dump_json())
    elif found:
        _print_table(found)
    else:
        typer.echo("no voices")


@app.command()
def show(
    voice: VoiceArgument, server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """Show one of your voices."""
    with connected(server, data_dir) as client:
        found = client.voices.get(voice)
    if as_json:
        typer.echo(found.model_dump_json(indent=2))
        return
    for name, value in _facts(found):
        typer.echo(f"{name:<11} {value}")


@app.command()
def rm(voices: VoicesArgument, server: ServerOption = None, data_dir: DataDirOption = None) -> None:
    """Delete voices with their recordings and caches."""
    with connected(server, data_dir) as client:
        for voice in voices:
            client.voices.delete(voice)
            typer.echo(f"{voice} deleted")


@app.command()
def export(
    voice: VoiceArgument,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where to write it.")],
    model: Annotated[str | None, typer.Option(help="The model whose embedding it is.")] = None,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Write a voice's speaker embedding as safetensors; `voices add` takes it back."""
    with connected(server, data_dir) as client:
        data = client.voices.embedding(voice, model)
    _write(output, data)
    typer.echo(f"{output}: {len(data)} bytes")


def _require_file(path: Path) -> None:
    from rhapsode.cli.failures import Misuse

    if not path.is_file():
        raise Misuse(f"{path} is no file")


def _write(path: Path, data: bytes) -> None:
    from rhapsode.cli.failures import Misuse

    try:
        path.write_bytes(data)
    except OSError as error:
        raise Misuse(f"{path} cannot be written: {error.strerror}") from error


def _print_table(voices: list[Voice]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Column, Table

    console = Console()
    if not console.is_terminal:
        for voice in voices:
            typer.echo("\t".join((voice.id or "-", voice.kind, voice.name, ",".join(voice.models))))
        return
    # An id that was cut cannot be copied.
    width = max(len(voice.id or "") for voice in voices)
    table = Table(Column("voice", no_wrap=True, min_width=width), "name", "from", "models", box=box.SIMPLE)
    for voice in voices:
        table.add_row(voice.id or "", voice.name, _origin(voice), ", ".join(voice.models))
    console.print(table)


def _origin(voice: Voice) -> str:
    if voice.sample is None:
        return "model"
    return f"{voice.sample.kind}, {voice.created_at.astimezone():%b %d}" if voice.created_at else voice.sample.kind


def _facts(voice: Voice) -> Generator[tuple[str, str]]:
    yield "voice", voice.id or "-"
    yield "name", voice.name
    yield "models", ", ".join(voice.models) or "none that has workers"
    yield "language", voice.language
    if voice.description:
        yield "description", voice.description
    if voice.ref_text:
        yield "says", voice.ref_text
    if voice.sample:
        yield voice.sample.kind, f"{voice.sample.media_type}, {voice.sample.bytes} bytes, revision {voice.revision}"
    if voice.consent:
        given = f"{voice.consent.actor}, {voice.consent.at.astimezone():%Y-%m-%d %H:%M}"
        yield "consent", f"{voice.consent.statement!r}, {given}"
    for name, value in sorted(voice.metadata.items()):
        yield "metadata", f"{name}={value}"
