"""`rhapsode narrate`: a text or a book in, speech out."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.audio_options import (
    BitrateOption,
    LoudnessOption,
    SampleRateOption,
    SubtitlesOption,
    audio_type,
    wanted_output,
)
from rhapsode.cli.failures import Misuse, status_of, terminated_like_interrupted
from rhapsode.cli.narration_files import choose_output, choose_speakers, read_spoken, sent_input
from rhapsode.cli.options import (
    CheckpointOption,
    DataDirOption,
    DeviceOption,
    JsonOption,
    ServerOption,
    SlotsOption,
    choose_checkpoint,
    choose_data_dir,
    read_settings,
)

if TYPE_CHECKING:
    from rich.console import Console

    from rhapsode.client import Rhapsode
    from rhapsode.inputs import JobInput
    from rhapsode.resources import Artifact, Job
    from rhapsode.submission import JobOptions

CANCEL_PATIENCE_S = 10.0


def narrate(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="What to speak: .txt in UTF-8, .md, .html or .epub; - reads text from standard input."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="AUDIO",
            help="Where to put the speech, as .wav, .flac, .mp3, .opus or .m4b; else FILE's name and .wav, here.",
        ),
    ] = None,
    voice: Annotated[
        str | None, typer.Option(help="A speaker of the model, or a voice of yours; else the model's first.")
    ] = None,
    speaker: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VOICE", help="Who speaks lines that begin with `NAME:`; may be given several times."
        ),
    ] = None,
    language: Annotated[str | None, typer.Option(help="A language of the model; else the model's choice.")] = None,
    dictionary: Annotated[
        list[str] | None, typer.Option(metavar="DICTIONARY", help="How words are respelt: pd_...@1; may be repeated.")
    ] = None,
    words: Annotated[
        bool, typer.Option("--words", help="Numbers, dates, money and units as words; needs --language.")
    ] = False,
    describe_images: Annotated[
        bool, typer.Option("--describe-images", help="Say what a document's pictures show, where it says so.")
    ] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Same text and seed, same speech; else drawn.")] = None,
    model: Annotated[str | None, typer.Option(help="A model of the server; else its only one.")] = None,
    loudness: LoudnessOption = None,
    sample_rate: SampleRateOption = None,
    bitrate: BitrateOption = None,
    subtitles: SubtitlesOption = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace an existing output.")] = False,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    slots: SlotsOption = None,
    checkpoint: CheckpointOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Narrate a text, a book (.epub, .html, .md) or .ssml into a WAV, or into what the output's name says.

    A book's chapters become chapters of .m4b, .mp3, .flac and .opus, with its title, author and cover.

    Uses the server of --server or RHAPSODE_SERVER_URL, else the one that `rhapsode up` runs here, else starts one
    for the duration; --slots, --checkpoint and --device are for the latter. Ctrl-C cancels the job.
    """
    spoken, speakers = read_spoken(file), choose_speakers(speaker or [])
    target_file = choose_output(file, output)
    audio = wanted_output(target_file, loudness, sample_rate, bitrate, subtitles)
    if target_file.exists() and not force:
        raise Misuse(f"{target_file} exists; --force replaces it, -o chooses another name")

    from rich.console import Console

    from rhapsode.cli.servers import any_server, choose_target
    from rhapsode.stack.options import StackOptions

    settings = read_settings()
    folder = choose_data_dir(data_dir, settings)
    target = choose_target(server, data_dir=folder, is_data_dir_given=data_dir is not None, settings=settings)
    options = StackOptions(data_dir=folder.root, slots=slots, checkpoint=choose_checkpoint(checkpoint), device=device)
    console = Console(stderr=True)
    with terminated_like_interrupted():
        try:
            with any_server(target, options, settings, console) as client:
                wishes: JobOptions = {"voice": voice, "language": language, "seed": seed, "model": model}
                wishes |= {"output": audio, "speakers": speakers or None}
                wishes |= {"pronunciation_dictionaries": dictionary, "normalization": "basic" if words else None}
                job, wall_s = _run(client, sent_input(client, spoken, describe_images=describe_images), wishes, console)
                job.raise_unless_succeeded()
                artifact = _speech(job, target_file)
                client.download(job, artifact.name, target_file)
                if subtitles is not None:
                    client.download(job, f"narration.{subtitles}", target_file.with_suffix(f".{subtitles}"))
                _summarise(client, job, artifact, target_file, wall_s, as_json=as_json)
        except KeyboardInterrupt as interrupt:
            raise typer.Exit(status_of(interrupt)) from interrupt


def _run(client: Rhapsode, spoken: JobInput, wishes: JobOptions, console: Console) -> tuple[Job, float]:
    """The ended job and the wall seconds from its submission. A KeyboardInterrupt cancels it on its way out."""
    from rhapsode.cli.progress import follow

    began_s = time.monotonic()
    key = str(uuid.uuid4())

    def submitted() -> Job:
        return client.submit_job(spoken, idempotency_key=key, **wishes)

    try:
        job = follow(client, submitted(), console)
    except KeyboardInterrupt:
        # The key finds the job again even if the answer to the first submission was never read.
        _cancel(client, submitted, console)
        raise
    return job, time.monotonic() - began_s


def _cancel(client: Rhapsode, find: Callable[[], Job], console: Console) -> None:
    from rhapsode.errors import RhapsodeError, WaitTimedOut

    try:
        job = find()
        client.cancel(job)
        ended = client.wait(job, timeout_s=CANCEL_PATIENCE_S)
    except WaitTimedOut as error:
        console.print(f"job {error.job.id} is {error.job.state}", markup=False, highlight=False)
    except RhapsodeError as error:
        console.print(f"the job could not be cancelled: {error}", markup=False, highlight=False)
    else:
        console.print(f"job {ended.id} {ended.state}", markup=False, highlight=False)


def _speech(job: Job, file: Path) -> Artifact:
    return next(artifact for artifact in job.artifacts if artifact.type == audio_type(file))


def _summarise(client: Rhapsode, job: Job, artifact: Artifact, file: Path, wall_s: float, *, as_json: bool) -> None:
    """Real-time factor: wall seconds from submission to success, per second of speech; lower is better."""
    from rhapsode.cli.wording import counted, span, warned
    from rhapsode.resources import ResolvedRequest

    audio_s = artifact.duration_s or 0.0
    factor = wall_s / audio_s if audio_s else 0.0
    request = job.request if isinstance(job.request, ResolvedRequest) else None
    notice = next((m.notice for m in client.models() if request and m.name == request.model), "")
    if as_json:
        facts = {
            "file": str(file),
            "job": job.id,
            "audio_s": round(audio_s, 3),
            "wall_s": round(wall_s, 3),
            "real_time_factor": round(factor, 4),
            "segments": job.progress.segments.total,
            "model": request.model if request else None,
            "voice": request.voice if request else None,
            "seed": request.seed if request else None,
            "notice": notice,
            "warnings": [each.model_dump() for each in job.warnings],
        }
        typer.echo(json.dumps(facts))
        return
    speed = f", {1 / factor:.1f}x real time (real-time factor {factor:.3f})" if factor else ""
    typer.echo(f"{file}: {span(audio_s)} of speech in {span(wall_s)}{speed}")
    if request:
        segments = counted(job.progress.segments.total, "segment")
        typer.echo(f"  {segments}, model {request.model}, voice {request.voice}, seed {request.seed}")
    if notice:
        typer.echo(f"  {notice}")
    for warning in job.warnings:
        typer.echo(f"  {warned(warning)}")
