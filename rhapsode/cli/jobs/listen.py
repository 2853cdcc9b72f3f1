"""`rhapsode jobs listen`: a job's audio as it is made."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from rhapsode.cli.clients import connected
from rhapsode.cli.failures import Misuse, status_of, terminated_like_interrupted
from rhapsode.cli.options import DataDirOption, ServerOption


@contextmanager
def _target(output: str) -> Generator[BinaryIO]:
    """Raises `Misuse` for a file that cannot be written."""
    if output == "-":
        yield sys.stdout.buffer
        return
    try:
        with Path(output).open("wb") as file:
            yield file
    except OSError as error:
        raise Misuse(f"{output} cannot be written: {error.strerror}") from error


class StreamFormat(StrEnum):
    WAV = "wav"
    MP3 = "mp3"
    OPUS = "opus"


def listen(
    job: Annotated[str, typer.Argument(metavar="JOB", help="A job's id, job_...")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output.")
    ] = "-",
    form: Annotated[StreamFormat, typer.Option("--format", help="The audio format.")] = StreamFormat.WAV,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Stream a job's audio in order while it is generated.

    For instance: rhapsode jobs listen job_... | ffplay -i -

    A WAV file gets its length at the end, also after Ctrl-C. A pipe never gets it.
    """
    if output == "-" and sys.stdout.isatty():
        raise Misuse("a terminal cannot play audio; use a player or a file: | ffplay -i -, or -o FILE")
    with connected(server, data_dir) as client, terminated_like_interrupted():
        try:
            _write(client.listen(job, form.value), job, output)
        except KeyboardInterrupt as interrupt:
            raise typer.Exit(status_of(interrupt)) from interrupt


def _write(pieces: Iterator[bytes], job: str, output: str) -> None:
    from rhapsode.cli.jobs.wav_sizes import WavSizes
    from rhapsode.errors import RhapsodeError

    # Nothing is created before there is something to hear.
    first = next(pieces, b"")
    if not first:
        raise RhapsodeError(f"{job} has no audio")
    with _target(output) as target:
        sizes = WavSizes(target.fileno())
        try:
            for piece in chain((first,), pieces):
                sizes.will_write(piece)
                target.write(piece)
                target.flush()
        finally:
            # Also of a stream that broke off, or was interrupted: what is there is a file of its own length. An
            # interrupt may have come between a write and its flush.
            with suppress(BrokenPipeError):
                target.flush()
            sizes.mend()
