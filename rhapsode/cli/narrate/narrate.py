"""`rhapsode narrate`: a text or a book in, speech out."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.cover_file import readable_cover
from rhapsode.cli.failures import HungUp, interruptible
from rhapsode.cli.job_fields import check_job, given_fields
from rhapsode.cli.narrate.cast_file import read_cast
from rhapsode.cli.narrate.fetching import fetch, summarise
from rhapsode.cli.narrate.files import choose_speakers, read_spoken, sent_input, title_of, with_parts
from rhapsode.cli.narrate.options import (
    AudioOptions,
    BookOptions,
    DrawingOptions,
    NarrateSpeechOptions,
    OrderOptions,
    QualityOptions,
    SystemOptions,
)
from rhapsode.cli.narrate.targets import choose_targets
from rhapsode.cli.options import JsonOption, choose_checkpoint, choose_devices, read_settings
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rich.console import Console

    from rhapsode.client.request_options import JobInputFields, JobOptions
    from rhapsode.client.resources import Job
    from rhapsode.client.sync.client import Rhapsode

CANCEL_PATIENCE_S = 10.0


def narrate(
    *,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The text or book to read; - reads standard input.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="AUDIO",
            help="The file to write: .wav, .flac, .mp3, .opus, .m4b or .aac. Default: FILE's name with .wav, "
            "in the current folder. An existing folder gets the files of --chapter-files. For --preset acx, a name "
            "without suffix is a folder of chapters.",
        ),
    ] = None,
    speech: NarrateSpeechOptions,
    drawing: DrawingOptions,
    quality: QualityOptions,
    order: OrderOptions,
    audio: AudioOptions,
    book: BookOptions,
    system: SystemOptions,
    detach: Annotated[
        bool,
        typer.Option(
            "--detach",
            help="Submit the job to a running server, print its id and exit. -o then chooses only the format.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Turn a text or a book into an audio file.

    Reads .txt, .md, .html, .epub, .docx, .pdf and .ssml. The name after -o chooses the format. A book keeps its
    title, author, cover and chapters.

    It uses a running server: --server, RHAPSODE_SERVER_URL, or `rhapsode up` on this machine. Without one, it starts
    a server for this run. Ctrl-C cancels the job. With --detach it ends at once and the job continues.
    """
    spoken = with_parts(read_spoken(file, speech.encoding, strict_ssml=speech.strict_ssml), speech.include)
    cast = None if speech.cast is None else read_cast(speech.cast)
    speakers = choose_speakers(speech.speaker or [])
    if cast is not None:
        speakers |= cast.speakers
    targets = choose_targets(file, output, audio.chapter_files, audio.preset, is_forced=audio.force)
    wishes: JobOptions = {
        **speech.wishes(speakers),
        **audio.wishes(targets),
        **drawing.wishes(),
        **given_fields(quality),
        **order.wishes(),
        "metadata": {"title": book.title} if book.title else title_of(file),
    }
    if cast is not None:
        wishes["voice"] = wishes.get("voice") or cast.narrator
    wishes["output"] = {**(wishes.get("output") or {}), **(given_fields(book).get("output") or {})}
    check_job(wishes, (speech, drawing, quality, order, audio, book))
    picture = None if book.cover is None else readable_cover(book.cover)

    from rhapsode.cli.consoles import VisibleConsole

    console = VisibleConsole(stderr=True)
    with interruptible(), _server(system, console, is_running=detach) as client:
        given = sent_input(client, spoken, describe_images=speech.describe_images)
        if cast is not None:
            given["lines"] = cast.lines_by_speaker
        if picture is not None:
            wishes["output"]["cover"] = client.upload(picture).id
        if detach:
            handed_in = client.submit_job(given, idempotency_key=str(uuid.uuid4()), **wishes)
            echo(handed_in.model_dump_json() if as_json else handed_in.id)
            return
        job, wall_s = _run(client, given, wishes, console)
        job.raise_unless_succeeded()
        artifact = fetch(client, job, targets, audio.subtitles or (), console)
        summarise(client, job, artifact, targets, wall_s, as_json=as_json)


@contextmanager
def _server(system: SystemOptions, console: Console, *, is_running: bool) -> Generator[Rhapsode]:
    """is_running: a server that outlives this command. It excludes the options of a new server (`Misuse`)."""
    from rhapsode.cli.servers import any_server, choose_target, lasting_server
    from rhapsode.stack.options import StackOptions

    settings = read_settings()
    target = choose_target(system, settings)
    checkpoint = choose_checkpoint(system.checkpoint, target.data_dir)
    devices = choose_devices(system.device)
    options = StackOptions(target.data_dir.root, slots=system.slots, checkpoint=checkpoint, devices=devices)
    chosen = lasting_server if is_running else any_server
    with chosen(target, options, settings, console) as client:
        yield client


def _run(client: Rhapsode, spoken: JobInputFields, wishes: JobOptions, console: Console) -> tuple[Job, float]:
    """The ended job and its wall seconds. Ctrl-C cancels the job; a closed terminal does not."""
    from rhapsode.cli.narrate.progress import follow

    began_s = time.monotonic()
    key = str(uuid.uuid4())

    def submitted() -> Job:
        return client.submit_job(spoken, idempotency_key=key, **wishes)

    try:
        job = submitted()
        # Print the id at once: the user may close the terminal.
        console.print(f"job {job.id}", markup=False, highlight=False)
        job = follow(client, job, console)
    except HungUp:
        raise
    except KeyboardInterrupt:
        # The key finds the job even if the first answer was lost.
        _cancel(client, submitted, console)
        raise
    return job, time.monotonic() - began_s


def _cancel(client: Rhapsode, find: Callable[[], Job], console: Console) -> None:
    from rhapsode.errors import Conflict, RhapsodeError, WaitTimedOut

    try:
        job = find()
        try:
            client.cancel(job)
        except Conflict:
            # It has ended already. `wait` returns its state.
            console.print("too late to cancel:", end=" ", highlight=False)
        ended = client.wait(job, timeout_s=CANCEL_PATIENCE_S)
    except WaitTimedOut as error:
        console.print(f"job {error.job.id} is {error.job.state}", markup=False, highlight=False)
    except RhapsodeError as error:
        console.print(f"the job could not be cancelled: {error}", markup=False, highlight=False)
    else:
        console.print(f"job {ended.id} {ended.state}", markup=False, highlight=False)
