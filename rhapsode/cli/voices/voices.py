"""`rhapsode voices`: the voices of a server."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rhapsode.cli import job_options
from rhapsode.cli.clients import CommonOptions, connected
from rhapsode.cli.failures import FAILED, INTERRUPTED, Misuse
from rhapsode.cli.file_names import make_folder, plain_id
from rhapsode.cli.for_each import delete_each
from rhapsode.cli.live.say import PlayOption, SaveOption, say
from rhapsode.cli.narrate.sent_files import readable
from rhapsode.cli.options import ForceOption, NoteOption
from rhapsode.cli.tables import print_rows
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.client.voices.orders import BulkOrder
    from rhapsode.contract.voices.caches import VoiceCache
    from rhapsode.contract.voices.voices import Voice

BULK = 10_000
"""Voices of one job; the server takes 20,000."""

SENTENCE = "The wind and the sun were disputing which of them was the stronger, when a traveller came along the road."

app = typer.Typer(help="List, try, add, blend and export voices.", no_args_is_help=True, rich_markup_mode=None)

VoiceArgument = Annotated[str, typer.Argument(metavar="VOICE", help="A voice's name, or its id, voc_...")]
VoicesArgument = Annotated[list[str], typer.Argument(metavar="VOICE...", help="Names or ids of voices")]
ModelOption = Annotated[str | None, typer.Option(help="The model. You need it if several models clone voices.")]
ModeOption = Annotated[
    Literal["x_vector", "in_context"] | None,
    typer.Option(help="Use of the recording. Default: in_context if possible."),
]
ConsentOption = Annotated[
    str, typer.Option(metavar="STATEMENT", help="The speaker's consent. Optional under RHAPSODE_CONSENT=operator.")
]


@app.command("try")
def try_voices(
    common: CommonOptions,
    voices: Annotated[list[str], typer.Argument(metavar="VOICE...", help="Names or ids of voices, in order.")],
    text: Annotated[str, typer.Option(help="The sentence.")] = SENTENCE,
    model: job_options.Model = None,
    language: job_options.Language = None,
    seed: job_options.Seed = None,
    play: PlayOption = None,
    save: SaveOption = None,
    force: ForceOption = False,
) -> None:
    """Play a sentence in each voice. For instance: rhapsode voices try af_heart bm_fable

    --save also takes a folder, for VOICE.wav of each.
    """
    is_file = save is not None and save.suffix.lower() == ".wav"
    if is_file and len(voices) > 1:
        raise Misuse(f"{save} is one file; for {len(voices)} voices --save takes a folder")
    if save is not None and not is_file:
        make_folder(save)
    if text == "-":
        raise Misuse("--text takes no standard input; `rhapsode say -` does")
    for voice in voices:
        file = save if save is None or is_file else save / f"{plain_id(voice)}.wav"
        say(common, text, voice=voice, model=model, language=language, seed=seed, play=play, save=file, force=force)


@app.command()
def add(
    common: CommonOptions,
    recording: Annotated[Path, typer.Argument(metavar="FILE", help="Sound or video, 1 s or more; best 60 s used")],
    name: Annotated[str, typer.Option(help="Name of the voice.")],
    consent: ConsentOption = "",
    ref_text: Annotated[str, typer.Option(metavar="TEXT", help="The exact words of the recording.")] = "",
    language: Annotated[str, typer.Option(help="The language of the recording.")] = "auto",
    description: NoteOption = "",
) -> None:
    """Add a voice from a recording. An exported embedding (.safetensors) works too."""
    readable(recording)
    with connected(common) as client:
        if recording.suffix == ".safetensors":
            made = client.voices.add_embedding(name, recording.read_bytes(), consent=consent, description=description)
        else:
            made = client.voices.add(
                name, recording, consent=consent, ref_text=ref_text, language=language, description=description
            )
    common.echo(made, f"{made.id} {made.name}")
    for repair in made.sample.repairs if made.sample else ():
        echo(f"warning: {repair}", err=True)


@app.command("list")
def list_voices(
    common: CommonOptions,
    kind: Annotated[Literal["own", "built_in"] | None, typer.Option(help="Only this kind.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rows.")] = 100,
) -> None:
    """List the models' voices, then yours, newest first. With --json: one JSON object per line."""
    from itertools import islice

    with connected(common) as client:
        found = list(islice(client.voices.list(kind, page_size=min(limit, 100)), limit))
        is_loading = not client.models()
    if common.as_json or not found:
        common.echo_each(found, _origin, none="no voices")
    else:
        _print_table(found)
    if is_loading:
        echo("no model is loaded yet: the voices of models are missing", err=True)


@app.command()
def show(common: CommonOptions, voice: VoiceArgument) -> None:
    """Show a voice."""
    with connected(common) as client:
        found = client.voices.get(voice)
        caches = client.voices.caches(found) if found.kind == "own" else ()
    common.echo_facts(found, (*_facts(found), *map(_cache_fact, caches)))


@app.command()
def rm(common: CommonOptions, voices: VoicesArgument) -> None:
    """Delete voices with their recordings and caches."""
    delete_each(common, voices, lambda client: client.voices.delete)


@app.command()
def cache(
    common: CommonOptions,
    voices: Annotated[
        list[str] | None, typer.Argument(metavar="[VOICE]...", help="Names or ids. Default: all.")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only voices whose last preparation failed.")] = False,
    model: ModelOption = None,
    mode: ModeOption = None,
    force: Annotated[bool, typer.Option("--force", help="Prepare ready voices again.")] = False,
) -> None:
    """Prepare voices before a job needs them. Ctrl-C stops watching; the work continues."""
    from rhapsode.client.voices.orders import BulkOrder
    from rhapsode.contract.voices.caches import ShownState

    if voices and failed:
        raise Misuse("name voices, or use --failed")
    state: ShownState | None = "failed" if failed else None
    order = BulkOrder(voices or None, state, model, mode, force=force)
    with connected(common) as client:
        _prepare(common, client, order)


@app.command()
def blend(
    common: CommonOptions,
    voices: Annotated[list[str], typer.Argument(metavar="VOICE[=WEIGHT]...", help="Two or more of your voices.")],
    name: Annotated[str, typer.Option(help="Name of the new voice.")],
    method: Annotated[Literal["slerp", "lerp"], typer.Option(help="Spherical or linear interpolation.")] = "slerp",
    model: ModelOption = None,
    description: NoteOption = "",
) -> None:
    """Blend your own voices: `voices blend Ada=2 Bo=1 --name Mix`. For Kokoro's: --voice "af_bella(2)+af_sky(1)"."""
    from rhapsode.client.voices.orders import Blend

    weights = dict(_weighted(voice) for voice in voices)
    with connected(common) as client:
        made = client.voices.blend(Blend(name, weights, method, model, description))
    common.echo(made, f"{made.id} {made.name}")


@app.command("import")
def import_voices(
    common: CommonOptions,
    manifest: Annotated[Path, typer.Argument(metavar="MANIFEST", help="CSV with a header, or JSON lines.")],
    consent: ConsentOption = "",
    prepare: Annotated[bool, typer.Option(help="Also prepare the voices.")] = True,
    model: ModelOption = None,
    mode: ModeOption = None,
) -> None:
    """Add many voices from a manifest.

    Columns: name, audio (a path relative to the manifest), ref_text, consent, language, description. --consent
    holds for rows without one. A repeat after a failure skips existing voices. With --json: one JSON object for each
    voice and each preparation job.
    """
    from rhapsode.cli.consoles import VisibleConsole
    from rhapsode.cli.voices.import_many import upload_all
    from rhapsode.client.voices.manifest import ManifestError, read_manifest
    from rhapsode.client.voices.orders import BulkOrder

    readable(manifest)
    try:
        listed = read_manifest(manifest)
    except ManifestError as error:
        raise Misuse(f"{manifest}: {error}") from error
    with connected(common) as client:
        outcomes = upload_all(client, listed, consent, VisibleConsole(stderr=True))
        for outcome in outcomes:
            if outcome.trouble:
                echo(f"{manifest}:{outcome.listed.line}: {outcome.trouble}", err=True)
        ids = [outcome.voice.id for outcome in outcomes if outcome.voice and outcome.voice.id]
        num_new = sum(outcome.is_new for outcome in outcomes)
        num_failed = len(outcomes) - len(ids)
        counts = {"added": num_new, "there": len(ids) - num_new, "failed": num_failed}
        line = f"{num_new} voices added, {counts['there']} existed, {num_failed} failed"
        echo(json.dumps({"voices": ids, **counts}) if common.as_json else line)
        for start in range(0, len(ids) if prepare else 0, BULK):
            _prepare(common, client, BulkOrder(ids[start : start + BULK], None, model, mode))
    if num_failed:
        raise typer.Exit(FAILED)


@app.command()
def export(
    common: CommonOptions,
    voice: VoiceArgument,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The file to write.")],
    model: ModelOption = None,
) -> None:
    """Save a voice's embedding as safetensors for `voices add`."""
    with connected(common) as client:
        data = client.voices.embedding(voice, model)
    _write(output, data)
    facts = {"path": str(output), "bytes": len(data)}
    echo(json.dumps(facts) if common.as_json else f"{output}: {len(data)} bytes")


def _prepare(common: CommonOptions, client: Rhapsode, order: BulkOrder) -> None:
    from rhapsode.cli.consoles import VisibleConsole
    from rhapsode.cli.narrate.progress import follow

    console = VisibleConsole(stderr=True)
    job = client.voices.prepare_many(order)
    try:
        ended = follow(client, job, console)
    except KeyboardInterrupt as interrupt:
        console.print(f"job {job.id} continues; `rhapsode jobs watch {job.id}` shows it", highlight=False)
        raise typer.Exit(INTERRUPTED) from interrupt
    counts = ended.progress.segments
    line = f"{counts.done} of {counts.total} voices ready ({ended.id} {ended.state})"
    common.echo(ended, line)
    if ended.state != "succeeded":
        for warning in ended.warnings:
            echo(f"{warning.detail} ({warning.code})", err=True)
        echo(f"rhapsode: {ended.error.detail if ended.error else ended.state}", err=True)
        raise typer.Exit(FAILED)


def _weighted(argument: str) -> tuple[str, float]:
    """A voice's name may contain "=". Only a number after the last "=" is a weight."""
    voice, sign, weight = argument.rpartition("=")
    try:
        return (voice, float(weight)) if sign else (argument, 1.0)
    except ValueError:
        return argument, 1.0


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise Misuse(f"{path} cannot be written: {error.strerror}") from error


def _print_table(voices: list[Voice]) -> None:
    if not sys.stdout.isatty():
        for voice in voices:
            echo("\t".join((voice.id or "-", voice.kind, voice.name, ",".join(voice.models))))
        return
    rows = [(voice.name, _origin(voice), ", ".join(voice.models), voice.id or "-") for voice in voices]
    print_rows(("name", "from", "models", "id"), rows)


def _origin(voice: Voice) -> str:
    if voice.sample is None:
        return "model"
    return f"{voice.sample.kind}, {voice.created_at.astimezone():%b %d}" if voice.created_at else voice.sample.kind


def _facts(voice: Voice) -> Generator[tuple[str, str]]:
    yield "voice", voice.id or "built in"
    yield "name", voice.name
    yield "models", ", ".join(voice.models) or "none that has workers"
    yield "language", voice.language
    if voice.description:
        yield "description", voice.description
    if voice.ref_text:
        yield "says", voice.ref_text
    if voice.sample:
        length = f"{voice.sample.duration_s:.1f} s, " if voice.sample.duration_s else ""
        size = f"{voice.sample.bytes} bytes, revision {voice.revision}"
        yield voice.sample.kind, f"{voice.sample.media_type}, {length}{size}"
    if voice.consent:
        given = f"{voice.consent.actor}, {voice.consent.at.astimezone():%Y-%m-%d %H:%M}"
        yield "consent", f"{voice.consent.statement!r}, {given}"
    for name, value in sorted(voice.metadata.items()):
        yield "metadata", f"{name}={value}"


def _cache_fact(cache: VoiceCache) -> tuple[str, str]:
    reason = f": {cache.error.detail} ({cache.error.code})" if cache.error else ""
    size = f", {cache.bytes} bytes" if cache.bytes else ""
    return "cache", f"{cache.state} for {cache.model}, {cache.mode}{size}{reason}"
