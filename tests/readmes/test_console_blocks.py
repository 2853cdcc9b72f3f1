"""What the READMEs say is typed does what they say: every console block is run, and what it prints is compared."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.environment import without_settings
from tests.readmes.console import Console, RunningSystem, running_system
from tests.readmes.console_blocks import Block, command_blocks, programs
from tests.readmes.masked_output import is_as_told
from tests.tools.wanted import without

ROOT = Path(__file__).parents[2]
SOURCES = ("api", "benchmarks", "docker", "examples", "reading", "rhapsode", "storage", "tests", "training", "worker")
PAGES = [
    ROOT / "README.md",
    *sorted(page for name in SOURCES for page in (ROOT / name).rglob("README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
WITH_PROGRAMS = [
    ROOT / "README.md",
    ROOT / "docs" / "first-steps.md",
    *(ROOT / "docs" / "tutorials" / f"from-{origin}.md" for origin in ("openai", "elevenlabs")),
]
ON_THE_SMALL_VOICE = [ROOT / "docs" / "tutorials" / "voices-and-consent.md"]
"""Kokoro cannot clone."""
FROM_NOTHING = [ROOT / "docs" / "first-steps.md"]
"""Each of its commands starts Python and imports what it needs."""
BIN = Path(sys.executable).parent


def blocks(page: Path) -> list[Block]:
    return list(command_blocks(page.read_text(encoding="utf-8")))


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


RUN = [page for page in PAGES if any(not block.reason for block in blocks(page))]


@pytest.fixture(scope="module")
def system(run_dir: Path) -> Iterator[RunningSystem]:
    """It speaks as one of which nothing is chosen."""
    environment = console_environment(run_dir)
    del environment["RHAPSODE_CHECKPOINT"]
    with running_system(str(BIN / "rhapsode"), run_dir / "readmes", environment) as system:
        yield system


@pytest.fixture(scope="module")
def small_voice(run_dir: Path) -> Iterator[RunningSystem]:
    with running_system(str(BIN / "rhapsode"), run_dir / "clones", console_environment(run_dir)) as system:
        yield system


def console_environment(run_dir: Path) -> dict[str, str]:
    # What a terminal shows of curl's progress is no part of what is printed.
    quiet = run_dir / "home"
    quiet.mkdir(exist_ok=True)
    (quiet / ".curlrc").write_text("silent\nshow-error\n")
    of_the_console = {"CURL_HOME": str(quiet), "COLUMNS": "100", "NO_PROXY": "*"}
    return without_settings(os.environ) | of_the_console | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


def test_every_block_with_commands_is_run_or_says_why_not() -> None:
    found = [(name_of(page), block) for page in PAGES for block in blocks(page)]

    assert len(found) >= 10
    assert [(page, block.line) for page, block in found if not block.reason and block.language != "console"] == []
    assert [(page, block.line) for page, block in found if block.reason and len(block.reason) < 10] == []


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_what_a_page_says_is_printed_is_printed(page: Path, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    loaded: CommandLine | None = None if page in FROM_NOTHING else request.getfixturevalue("command_line")
    system: RunningSystem = request.getfixturevalue("small_voice" if page in ON_THE_SMALL_VOICE else "system")
    if shutil.which("curl") is None:
        without("the pages use curl, which this machine lacks: `apt-get install curl`")
    console = Console(system, tmp_path, loaded)
    wrong: list[str] = []
    for block in blocks(page):
        if block.reason:
            continue
        for example in block.examples:
            printed = console.run(example)
            if not is_as_told(example.printed, printed):
                place = f"{name_of(page)}:{example.line}"
                wrong.append(f"{place}\n$ {example.command}\nsays\n{example.printed}\nprinted\n{printed}")
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=name_of)
def test_programs_of_a_page_run_as_they_are(page: Path, system: RunningSystem, tmp_path: Path) -> None:
    if importlib.util.find_spec("openai") is None:
        without("openai is not installed: `make test` installs it")
    (tmp_path / "chapter.txt").write_text("It was a bright day. The road was long.")
    console = Console(system, tmp_path)

    found = programs(page.read_text(encoding="utf-8"))
    for program in found:
        outcome = console.run_program(program)
        assert outcome.returncode == 0, f"{program}\n{outcome.stderr}"

    assert found
    sounds = [path for path in tmp_path.iterdir() if path.suffix in {".mp3", ".wav"}]
    assert sounds
    assert all(path.stat().st_size > 1_000 for path in sounds)
