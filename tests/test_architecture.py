"""The shape of the project: what may import what, what the README promises, what the wheel carries."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.core
import typer.main

from rhapsode.cli.main import command_line
from storage.runtime.config.settings import SETTING_NAMES, is_setting_file

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("api", "worker", "storage", "reading", "rhapsode")
COMMAND_LINE = typer.main.get_command(command_line())


@pytest.mark.parametrize("name", PACKAGES)
def test_our_short_package_names_are_provided_by_no_other_distribution(name: str) -> None:
    owners = set(importlib.metadata.packages_distributions().get(name, []))

    assert owners <= {"rhapsode"}
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).is_relative_to(ROOT)


def test_import_contracts_hold() -> None:
    outcome = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert outcome.returncode == 0, outcome.stdout


@pytest.mark.parametrize("module", ["api.app", "storage.job_store.store", "rhapsode.cli.main"])
def test_the_web_tier_and_the_client_start_where_torch_cannot_be_imported(module: str) -> None:
    blocked = ("torch", "numpy", "safetensors", "tokenizers", "soundfile")
    program = f"import sys\nfor name in {blocked!r}: sys.modules[name] = None\nimport {module}"

    outcome = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)

    assert outcome.returncode == 0, outcome.stderr


def test_every_benchmark_explains_itself() -> None:
    # One interpreter for all of them: nearly all the time goes into importing torch.
    program = """
import os, runpy, sys
for script in sys.argv[1:]:
    sys.path[0], sys.argv = os.path.dirname(script), [script, "--help"]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if not end.code:
            continue
    sys.exit(f"{script} did not end with its help")
"""
    files = sorted((ROOT / "benchmarks").rglob("*.py"))
    scripts = [str(file) for file in files if '__name__ == "__main__"' in file.read_text()]

    outcome = subprocess.run(
        [sys.executable, "-c", program, *scripts], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.lower().count("usage: ") == len(scripts)


FOLDERS = (*PACKAGES, ".github", "benchmarks", "docker", "docs", "examples", "generators", "tests", "training")
PAGES = sorted((*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))))
"""What people read first: each describes what works, and the tests below hold it to that."""

COMMANDS = sorted(
    (
        *PAGES,
        ROOT / "Makefile",
        ROOT / "pyproject.toml",
        *(file for file in (ROOT / "docker").rglob("*") if file.suffix in {".Dockerfile", ".tpl", ".yaml"}),
        *(file for folder in (*PACKAGES, "benchmarks", "training") for file in (ROOT / folder).rglob("*.py")),
    )
)
"""Where modules are named that are started."""


@pytest.mark.parametrize("package", [*PACKAGES, "training"])
def test_a_packages_page_says_what_every_room_holds(package: str) -> None:
    page = (ROOT / package / "README.md").read_text()
    rooms = {file.parent.name for file in (ROOT / package).glob("*/*") if file.is_file() and file.suffix != ".pyc"}

    assert {room for room in rooms if f"`{room}/`" not in page} == set()


@pytest.mark.parametrize("package", [*PACKAGES, "training"])
def test_tests_lie_where_what_they_test_does(package: str) -> None:
    tests = ROOT / "tests" / package
    folders = {file.parent.relative_to(tests) for file in tests.rglob("test_*.py")}

    assert {str(folder) for folder in folders if not (ROOT / package / folder).is_dir()} == set()


def test_every_module_that_is_started_by_name_can_be_started() -> None:
    # As in `python -m api.server`, and as in the chart's `[python, -m, api.server]`.
    started = re.compile(r"-m\W{1,4}((?:api|worker|storage|reading|rhapsode|training)(?:\.\w+)*)")
    named = {module for file in COMMANDS for module in started.findall(file.read_text())}
    assert "worker.process.drain" in named

    assert {module for module in named if not is_started(module)} == set()


def test_every_path_in_the_pages_exists() -> None:
    paths = re.compile(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`")
    named = {(page, path) for page in PAGES for path in paths.findall(page.read_text())}
    assert named

    assert {path for page, path in named if not (ROOT / path).exists() and not (page.parent / path).exists()} == set()


def test_every_benchmark_is_on_the_benchmarks_page() -> None:
    benchmarks = ROOT / "benchmarks"
    page = (benchmarks / "README.md").read_text()
    scripts = {
        str(file.relative_to(benchmarks))
        for file in benchmarks.rglob("*.py")
        if '__name__ == "__main__"' in file.read_text()
    }

    assert {script for script in scripts if f"`{script}`" not in page} - {"run_all.py"} == set()


def test_every_make_target_in_the_pages_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))

    named = {target for page in PAGES for target in re.findall(r"`make ([a-z-]+)", page.read_text())}

    assert named <= targets


def test_every_command_in_the_pages_exists() -> None:
    commands = re.compile(r"`rhapsode ([a-z]+(?:-[a-z]+)*(?: [a-z]+)?)")
    named = {command for page in PAGES for command in commands.findall(page.read_text())}
    assert named

    assert {command for command in named if not is_command(command.split())} == set()


def test_every_file_that_the_pages_link_to_exists() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_settings_page_lists_every_setting_and_no_other() -> None:
    named = set(re.findall(r"`(RHAPSODE_[A-Z0-9_]+)`", (ROOT / "docs" / "reference" / "settings.md").read_text()))

    assert named == SETTING_NAMES


def test_no_page_names_a_setting_that_does_not_exist() -> None:
    named = {name for page in PAGES for name in re.findall(r"\bRHAPSODE_[A-Z0-9_]*[A-Z0-9]\b", page.read_text())}

    assert {name for name in named if name not in SETTING_NAMES and not is_setting_file(name, SETTING_NAMES)} == set()


def is_started(module: str) -> bool:
    """Whether `python -m` finds something to run: a module with a main part, or a package's `__main__`."""
    place = ROOT.joinpath(*module.split("."))
    file = place / "__main__.py" if place.is_dir() else place.with_suffix(".py")
    return file.is_file() and '__name__ == "__main__"' in file.read_text()


def is_command(words: list[str]) -> bool:
    """Whether the command line has it; a second word may be an argument of the first."""
    found = COMMAND_LINE
    for word in words:
        if not isinstance(found, typer.core.TyperGroup):
            return True
        command = found.commands.get(word)
        if command is None:
            return False
        found = command
    return True


def test_the_threads_of_tests_end_within_a_limit() -> None:
    """The block of a `ThreadPoolExecutor` waits for its threads without one: `tests.threads.BoundedExecutor`."""
    files = (ROOT / "tests").rglob("*.py")
    unbounded = [file for file in files if re.search(r"import .*\bThreadPoolExecutor\b", file.read_text())]

    assert unbounded == [ROOT / "tests" / "threads.py"]
