"""`rhapsode dictionaries`: pronunciation of words."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.clients import AddressOptions, CommonOptions, connected
from rhapsode.cli.failures import Misuse
from rhapsode.cli.for_each import delete_each
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.client.request_options import RuleFields
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.client.sync.dictionaries import Rules
    from rhapsode.contract.pronunciations import Dictionary

app = typer.Typer(help="Change the pronunciation of words.", no_args_is_help=True, rich_markup_mode=None)

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A PLS file (.pls, .xml), or a .csv with lines `word,pronunciation`.")
]
DictionaryArgument = Annotated[str, typer.Argument(metavar="DICTIONARY", help="A dictionary's id, pd_...")]


@app.command()
def add(
    common: CommonOptions,
    file: FileArgument,
    name: Annotated[str | None, typer.Option(help="The dictionary's name. Default: the file's name.")] = None,
    to: Annotated[
        str | None, typer.Option(metavar="DICTIONARY", help="Add a new version to this dictionary, pd_...")
    ] = None,
) -> None:
    """Add a dictionary, or a new version of one. It prints the name for jobs, such as pd_...@1."""
    rules = read_rules(file)
    with connected(common) as client:
        if to is None:
            version = client.dictionaries.create(name or file.stem, rules).versions[-1]
        else:
            version = client.dictionaries.add_version(to, rules)
    common.echo(version, version.reference)


@app.command("list")
def list_dictionaries(common: CommonOptions) -> None:
    """List dictionaries with their newest version, oldest first."""
    with connected(common) as client:
        common.echo_each(list(client.dictionaries.list()), _line)


@app.command()
def export(
    common: AddressOptions,
    dictionary: DictionaryArgument,
    version: Annotated[int | None, typer.Option(min=1, help="The version. Default: the newest.")] = None,
) -> None:
    """Print a version as a PLS file."""
    with connected(common) as client:
        number = version or client.dictionaries.get(dictionary).versions[-1].version
        echo(client.dictionaries.export(dictionary, number).decode(), nl=False)


@app.command()
def rm(
    common: CommonOptions,
    dictionaries: Annotated[list[str], typer.Argument(metavar="DICTIONARY...", help="Their names or ids, pd_...")],
) -> None:
    """Delete dictionaries. Existing jobs keep their copies."""
    delete_each(common, dictionaries, lambda client: lambda name: client.dictionaries.delete(_id(client, name)))


def _id(client: Rhapsode, name: str) -> str:
    """Raises `Misuse` for a name that not exactly one dictionary has."""
    if name.startswith("pd_"):
        return name
    found = [each.id for each in client.dictionaries.list() if each.name == name]
    if len(found) != 1:
        raise Misuse(f"{len(found)} dictionaries have the name {name!r}; `rhapsode dictionaries list` shows their ids")
    return found[0]


def _line(dictionary: Dictionary) -> str:
    newest = dictionary.versions[-1]
    return f"{newest.reference}\t{newest.num_rules} rules\t{dictionary.name}"


def read_rules(file: Path) -> Rules:
    """Raises `Misuse` for an unreadable file and for other formats."""
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
