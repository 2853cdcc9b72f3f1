"""A server's words are shown, and tell the terminal nothing."""

from __future__ import annotations

import ast
import io
import json
from pathlib import Path

import pytest

import rhapsode.cli
from rhapsode.cli.consoles import VisibleConsole
from rhapsode.cli.visible import visible
from tests.rhapsode.answers import job
from tests.rhapsode.conftest import RunCli, ScriptedServer

CLI = Path(rhapsode.cli.__file__).parent
SOURCES = sorted(CLI.rglob("*.py"))

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b1A\rgone\x7f"
SHOWN = r"\u001b]0;owned\u0007\u001b[2J\u009b1A\u000dgone\u007f"


def test_control_characters_are_shown_as_json_escapes_them() -> None:
    assert visible(EVIL) == SHOWN
    assert visible("a\tb\nc\r\nÜmlaut 第一章 🦊") == "a\tb\nc\r\nÜmlaut 第一章 🦊"
    assert json.loads(visible(json.dumps({"title": "\x9b\x7f"}, ensure_ascii=False))) == {"title": "\x9b\x7f"}


def test_a_console_shows_them_and_keeps_its_own() -> None:
    screen = io.StringIO()
    console = VisibleConsole(file=screen, force_terminal=True, width=200)

    with console.status(EVIL):
        console.print(f"[bold]{EVIL}", soft_wrap=True)

    written = screen.getvalue()
    assert SHOWN.replace(r"\u0007", "").replace(r"\u000d", "") in written
    assert "\x1b[1m" in written
    assert not any(command in written for command in ("\x1b]0;owned", "\x1b[2J", "\x9b", "\x7f"))


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (("list",), {"data": [job(title=EVIL, metadata={"title": EVIL})], "next_cursor": None, "has_more": False}),
        (("show", "job_01"), job(metadata={"title": EVIL, EVIL: EVIL})),
        (("show", "job_01", "--json"), job(metadata={"title": EVIL})),
    ],
)
def test_what_a_server_says_reaches_no_terminal(
    run_cli: RunCli, script: ScriptedServer, words: tuple[str, ...], body: object
) -> None:
    script.answer(200, {"status": "ok"})
    script.answer(200, body)

    run = run_cli("jobs", *words, env={"RHAPSODE_SERVER_URL": script.url})

    assert (run.returncode, run.stderr) == (0, "")
    assert "owned" in run.stdout
    assert not set(EVIL) & set(run.stdout) & set("\x1b\x07\x9b\x7f\r")


def test_a_refusal_reaches_no_terminal(run_cli: RunCli, script: ScriptedServer) -> None:
    script.answer(200, {"status": "ok"})
    script.answer(404, {"title": EVIL, "detail": EVIL, "code": EVIL})

    run = run_cli("jobs", "show", "job_01", env={"RHAPSODE_SERVER_URL": script.url})

    assert run.returncode == 1
    assert run.stderr.startswith(r"rhapsode: \u001b]0;owned\u0007\u001b[2J\u009b1A gone\u007f [404 ")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.relative_to(CLI)))
def test_the_command_line_prints_in_no_other_way(source: Path) -> None:
    if source.name in {"visible.py", "consoles.py"}:
        return
    called = {ast.unparse(node.func) for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.Call)}

    assert called & {"typer.echo", "typer.secho", "print", "Console", "sys.stdout.write"} == set()
