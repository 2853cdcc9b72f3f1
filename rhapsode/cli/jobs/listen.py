"""`rhapsode jobs listen`: a job's audio as it is made."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

import typer

from rhapsode.cli.clients import AddressOptions, connected
from rhapsode.cli.failures import Misuse, interruptible
from rhapsode.cli.jobs.control import JobArgument


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


def listen(
    common: AddressOptions,
    job: JobArgument,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output.")
    ] = "-",
    form: Annotated[Literal["wav", "mp3", "opus"], typer.Option("--format", help="The audio format.")] = "wav",
) -> None:
    """Stream a job's audio in order while it is generated.

    For instance: rhapsode jobs listen job_... | ffplay -i -

    A WAV file gets its length at the end, also after Ctrl-C. A pipe never gets it.
    """
    if output == "-" and sys.stdout.isatty():
        raise Misuse("a terminal cannot play audio; use a player or a file: | ffplay -i -, or -o FILE")
    with connected(common) as client, interruptible():
        _write(client.listen(job, form), job, output)


def _write(pieces: Iterator[bytes], job: str, output: str) -> None:
    from rhapsode.cli.jobs.wav_sizes import WavSizes
    from rhapsode.errors import RhapsodeError

    # Create no file before the first audio.
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
            # Also after a broken stream or an interrupt, which may come between a write and its flush.
            with suppress(BrokenPipeError):
                target.flush()
            sizes.mend()
