"""`rhapsode dictionaries`: how words are respelt before they are spoken."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.clients import connected
from rhapsode.cli.failures import Misuse
from rhapsode.cli.for_each import deleted
from rhapsode.cli.options import DataDirOption, JsonOption, ServerOption
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.client.request_options import RuleFields
    from rhapsode.client.voices.dictionary_calls import Rules

app = typer.Typer(help="Change the pronunciation of words.", no_args_is_help=True, rich_markup_mode=None)

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A PLS file (.pls, .xml), or a .csv with lines `word,pronunciation`.")
]
DictionaryArgument = Annotated[str, typer.Argument(metavar="DICTIONARY", help="A dictionary's id, pd_...")]


@app.command()
def add(
    file: FileArgument,
    name: Annotated[str | None, typer.Option(help="The dictionary's name. Default: the file's name.")] = None,
    to: Annotated[
        str | None, typer.Option(metavar="DICTIONARY", help="Add a new version to this dictionary, pd_...")
    ] = None,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a dictionary, or a new version of one. It prints the name for jobs, such as pd_...@1."""
    rules = read_rules(file)
    with connected(server, data_dir) as client:
        if to is None:
            version = client.dictionaries.create(name or file.stem, rules).versions[-1]
        else:
            version = client.dictionaries.add_version(to, rules)
    echo(version.model_dump_json() if as_json else version.reference)


@app.command("list")
def list_dictionaries(server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """List dictionaries with their newest version, oldest first."""
    with connected(server, data_dir) as client:
        for each in client.dictionaries.list():
            newest = each.versions[-1]
            line = f"{newest.reference}\t{newest.num_rules} rules\t{each.name}"
            echo(each.model_dump_json() if as_json else line)


@app.command()
def export(
    dictionary: DictionaryArgument,
    version: Annotated[int | None, typer.Option(min=1, help="The version. Default: the newest.")] = None,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Print a version as a PLS file."""
    with connected(server, data_dir) as client:
        number = version or client.dictionaries.get(dictionary).versions[-1].version
        echo(client.dictionaries.export(dictionary, number).decode(), nl=False)


@app.command()
def rm(
    dictionary: DictionaryArgument,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a dictionary. Existing jobs keep their copy."""
    with connected(server, data_dir) as client:
        client.dictionaries.delete(dictionary)
    echo(deleted(dictionary).document if as_json else f"{dictionary} deleted")


def read_rules(file: Path) -> Rules:
    """Raises `Misuse` for a file that cannot be read or is of another kind."""
    try:
        if file.suffix.lower() in (".pls", ".xml"):
            return file.read_bytes()
        if file.suffix.lower() != ".csv":
            raise Misuse(f"{file} is neither a PLS file (.pls, .xml) nor a .csv")
        with file.open(encoding="utf-8-sig", newline="") as lines:
            return [_rule(file, number, row) for number, row in enumerate(csv.reader(lines), 1) if row]
    except OSError as error:
        raise Misuse(f"{file} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise Misuse(f"{file} is not a CSV file in UTF-8: {error}") from error


def _rule(file: Path, number: int, row: list[str]) -> RuleFields:
    if len(row) != 2 or not row[0].strip():
        raise Misuse(f"{file}, line {number}: write `word,pronunciation`")
    return {"grapheme": row[0].strip(), "alias": row[1].strip()}
