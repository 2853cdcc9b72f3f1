"""What help calls values, and that every command which answers can answer a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from rhapsode.cli.help_texts import usage_piece, value_name
from rhapsode.cli.main import command_line

WITHOUT_JSON = {
    "narrate": "has it",
    **dict.fromkeys(["up", "run"], "become processes"),
    **dict.fromkeys(["say", "voices try", "jobs listen"], "are heard"),
    **dict.fromkeys(["batches results", "dictionaries export"], "print a document as it is"),
    "bench": "writes it into a file",
    **dict.fromkeys(["calibrate", "distil-draft"], "write a file"),
}


def commands(group: TyperGroup, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


@pytest.fixture(scope="module")
def group() -> TyperGroup:
    group = typer.main.get_command(command_line())
    assert isinstance(group, TyperGroup)
    return group


def test_every_command_that_answers_answers_programs_too(group: TyperGroup) -> None:
    lacking = {name for name, command in commands(group) if not any("--json" in param.opts for param in command.params)}

    assert lacking <= WITHOUT_JSON.keys()


def test_no_help_names_a_type(group: TyperGroup, capsys: pytest.CaptureFixture[str]) -> None:
    for name, _ in commands(group):
        group.main([*name.split(), "--help"], prog_name="rhapsode", standalone_mode=False)
        shown = capsys.readouterr().out

        assert not [word for word in ("<list", " range>", "<str>", "<int>", "<float>") if word in shown], name
        assert "{" not in shown.splitlines()[0], name


def test_an_option_that_takes_one_value_refuses_a_second(group: TyperGroup) -> None:
    options = [
        (command, option)
        for _, command in commands(group)
        for option in command.params
        if option.param_type_name == "option" and not option.multiple
    ]
    assert len(options) > 300

    for command, option in options:
        once = [option.opts[0], *([] if option.is_flag else ["1"] * option.nargs)]
        with pytest.raises(typer.BadParameter, match="given several times"):
            command.parse_args(typer.Context(command), once * 2)


@pytest.mark.parametrize(
    ("shown", "name"),
    [
        ("<list[str]>", "TEXT"),
        ("<list[wav|mp3]>", "wav|mp3"),
        ("<high|low>", "high|low"),
        ("<int range>", "NUMBER"),
        ("<float>", "NUMBER"),
        ("<datetime>", "TIME"),
        ("NAME=VALUE", "NAME=VALUE"),
    ],
)
def test_a_value_is_called_by_its_choices_or_its_kind(shown: str, name: str) -> None:
    assert value_name(shown) == name


@pytest.mark.parametrize(
    ("piece", "said"),
    [("{JOB...}...", "JOB..."), ("{FILE}", "FILE"), ("[[VOICE]...]...", "[[VOICE]...]"), ("[OPTIONS]", "[OPTIONS]")],
)
def test_usage_says_once_that_a_thing_may_be_repeated(piece: str, said: str) -> None:
    assert usage_piece(piece) == said
