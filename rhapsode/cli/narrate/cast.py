"""`rhapsode cast`: who speaks in a novel, as a file to check and to narrate with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rhapsode.cli import job_options
from rhapsode.cli.clients import CommonOptions, connected
from rhapsode.cli.failures import Misuse, interruptible
from rhapsode.cli.formatting import counted
from rhapsode.cli.narrate.cast_file import advice, written_cast
from rhapsode.cli.narrate.files import read_spoken, with_parts
from rhapsode.cli.narrate.plan import planned
from rhapsode.cli.narrate.reading_options import EncodingOption, IncludeOption
from rhapsode.cli.options import ForceOption
from rhapsode.cli.visible import echo


def cast(
    common: CommonOptions,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The novel: .txt, .md, .html, .epub, .docx or .pdf.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="The file to write. Default: BOOK.cast.toml.")
    ] = None,
    voice: job_options.Voice = None,
    include: IncludeOption = None,
    encoding: EncodingOption = None,
    model: job_options.Model = None,
    force: ForceOption = False,
) -> None:
    """Guess who says each quotation of an English novel.

    It needs a running server, such as `rhapsode up`, and writes a file with a voice for each character. Check it, the
    uncertain lines first. Then run `rhapsode narrate FILE --cast CAST`. --voice is the narrator's voice.
    """
    spoken = with_parts(read_spoken(file, encoding), include)
    target = output or Path("cast.toml" if file == "-" else f"{Path(file).stem}.cast.toml")
    if target.exists() and not force:
        raise Misuse(f"{target} is there already; --force replaces it")
    with connected(common) as client, interruptible():
        made = planned(client, spoken, {"voice": voice, "model": model}, find_speakers=True)
    narrator = made.speakers[0].voice
    if made.cast is None:
        raise Misuse(f"{file} is not in English; `rhapsode narrate` reads it with one voice")
    if not made.cast.lines:
        raise Misuse(f"{file} has no quotations; `rhapsode narrate` reads it with one voice")
    if not all(each.voice for each in made.cast.characters):
        raise Misuse("this model has no built-in voices to choose from; name another model with --model")
    target.write_text(written_cast(made.title or Path(file).name, made.cast, narrator), "utf-8")
    if common.as_json:
        echo(made.cast.model_dump_json(indent=1))
        return
    echo(f"{target}: {counted(len(made.cast.lines), 'line')} of {counted(len(made.cast.characters), 'character')}")
    echo(f"{advice(made.cast)} Then: rhapsode narrate {file} --cast {target}")
