"""What help calls values, and that every command which answers can answer a program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from rhapsode.cli.help_texts import first_sentence, usage_piece, value_name
from rhapsode.cli.main import COMMON, GROUPS, command_line
from tests.test_pages import BANNED, MOST_WORDS_OF_A_SENTENCE, sentences, too_long

WITHOUT_JSON = {
    **dict.fromkeys(["up", "run"], "become processes"),
    "jobs listen": "writes audio",
    **dict.fromkeys(["batches results", "dictionaries export"], "print a document as it is"),
    **dict.fromkeys(["calibrate", "backup", "restore"], "write files"),
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


def groups(group: TyperGroup, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], TyperGroup]]:
    yield path, group
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from groups(command, (*path, name))


@pytest.fixture
def help_of(group: TyperGroup, capsys: pytest.CaptureFixture[str]) -> Any:
    def shown(*words: str) -> str:
        group.main(words, prog_name="rhapsode", standalone_mode=False)
        return capsys.readouterr().out

    return shown


@pytest.mark.parametrize("columns", [80, 120])
def test_a_command_is_one_whole_line_of_its_group(
    group: TyperGroup, help_of: Any, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    for path, each in groups(group):
        lines = [line.split(maxsplit=1) for line in help_of(*path, "--help").splitlines() if line]
        for name, command in each.commands.items():
            assert [name, first_sentence(command.help or "")] in lines, (path, name)


@pytest.mark.parametrize("columns", [80, 200])
def test_help_fits_the_terminal_and_is_never_cut(
    group: TyperGroup, help_of: Any, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    of_all = [path for path, _ in groups(group)] + [tuple(name.split()) for name, _ in commands(group)]
    pages = [help_of(*path, "--help") for path in of_all] + [help_of(name, "--help-all") for name in COMMON]
    lines = [line for page in pages for line in page.splitlines()]

    assert [line for line in lines if len(line) > min(columns, 120) or re.search(r"[a-z,;]\.\.\.$", line)] == []
    assert max(map(len, lines)) > min(columns, 120) - 10


def test_the_help_of_the_root_has_three_groups(help_of: Any) -> None:
    headings = [line.rstrip(":") for line in help_of("--help").splitlines() if re.fullmatch(r"[A-Z][a-z ]+:", line)]

    assert headings == ["Options", *GROUPS]
    assert list(GROUPS) == ["Make speech", "Look and change", "Operate"]


def test_a_command_of_many_options_shows_the_common_ones_and_how_to_see_all(group: TyperGroup, help_of: Any) -> None:
    assert {name for name, command in commands(group) if len(command.params) > 20} == COMMON.keys()
    for name in COMMON:
        few, every = help_of(name, "--help"), help_of(name, "--help-all")

        assert len(re.findall(r"^  -", few, re.MULTILINE)) <= 20
        assert "Show all options" in few
        for param in group.commands[name].params:
            assert param.param_type_name == "argument" or param.opts[0] in every, param.opts


def texts_of_help(group: TyperGroup) -> Iterator[str]:
    for _, each in groups(group):
        yield from (
            f"{each.help or ''}\n\n{each.epilog or ''}",
            *(getattr(param, "help", None) or "" for param in each.params),
        )
    for _, command in commands(group):
        yield from (command.help or "", *(getattr(param, "help", None) or "" for param in command.params))


def test_help_reads_as_the_rules_ask(group: TyperGroup) -> None:
    texts = list(texts_of_help(group))
    assert len(texts) > 500

    assert too_long((each for text in texts for each in sentences(text)), MOST_WORDS_OF_A_SENTENCE) == []
    assert [text for text in texts for banned in BANNED if re.search(rf"\b{banned}\b", text.lower())] == []


def test_every_command_that_answers_answers_programs_too(group: TyperGroup) -> None:
    lacking = {name for name, command in commands(group) if not any("--json" in param.opts for param in command.params)}

    assert lacking == WITHOUT_JSON.keys()


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
