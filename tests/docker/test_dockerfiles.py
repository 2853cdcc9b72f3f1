"""What the images are built of: linted, every source there, every command a real one, no setting misspelt."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rhapsode.cli.local.run import ProcessKind
from storage.runtime.config.settings import SETTING_NAMES, is_setting_file

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
DOCKERFILES = sorted(DOCKER.glob("*.Dockerfile"))

IMAGE_LIMIT_MB = 290
SYSTEM_MB = 89
"""Debian's base, Python and certificates, less what installs packages (72 MB), and 17 MB of bytecode; as measured on
2026-11-30.
"""


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.name)
def test_the_linter_finds_nothing(dockerfile: Path) -> None:
    hadolint = Path(sys.executable).parent / "hadolint"

    outcome = subprocess.run(
        [hadolint, "--failure-threshold", "ignore", dockerfile], capture_output=True, text=True, check=False
    )

    assert (outcome.returncode, outcome.stdout) == (0, "")


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.name)
def test_every_source_of_a_copy_exists_and_is_part_of_the_context(dockerfile: Path) -> None:
    sources = list(copied(dockerfile))
    ignored = dockerfile.with_name(f"{dockerfile.name}.dockerignore").read_text().splitlines()

    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in ignored, f"{source} is not let into the context"


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.name)
def test_images_run_as_an_ordinary_user_and_start_a_process_that_exists(dockerfile: Path) -> None:
    text = dockerfile.read_text()

    assert re.findall(r"^USER (.*)$", text, re.MULTILINE) == ["10001:10001"]
    assert 'ENTRYPOINT ["rhapsode", "run"]' in text
    command = re.findall(r'^CMD \["([a-z-]+)"', text, re.MULTILINE)[-1]
    assert command in set(ProcessKind)


@pytest.mark.parametrize("path", [*DOCKERFILES, *DOCKER.glob("*.yaml"), *(DOCKER / "helm").rglob("*.*")], ids=str)
def test_every_setting_that_is_named_exists(path: Path) -> None:
    named = set(re.findall(r"\bRHAPSODE_[A-Z0-9_]+\b", path.read_text()))

    assert {name for name in named if name not in SETTING_NAMES and not is_setting_file(name, SETTING_NAMES)} == set()


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.name)
def test_an_image_finds_our_packages_where_the_wheel_keeps_them(dockerfile: Path) -> None:
    sources = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"][
        "sources"
    ]
    (folder,) = {str(Path(place).parent) for place in sources.values()}
    named = re.findall(r"PYTHONPATH=(\S+)", dockerfile.read_text())

    # While it is built and when it runs.
    assert named == [f"/opt/rhapsode/lib/python3.11/site-packages/{folder}"] * 2


def test_the_requirements_of_an_image_are_those_of_the_project() -> None:
    printed = printed_requirements("api")

    assert {"fastapi", "boto3", "typer", "uvicorn"} <= printed
    assert not printed & {"torch", "safetensors", "tokenizers", "rhapsode"}
    assert printed_requirements("worker,listening") >= {"torch", "onnxruntime", "typer"}


def test_an_unknown_extra_ends_the_build() -> None:
    outcome = run_requirements("wroker")

    assert outcome.returncode == 1
    assert outcome.stderr == "pyproject.toml has no extra 'wroker'\n"


def test_the_image_of_the_api_stays_below_its_limit() -> None:
    """Of what is installed here, which is not stripped and has all bytecode: more than the image takes."""
    names = closure(printed_requirements("api"))
    megabytes = {name: installed_bytes(name) / 1e6 for name in names}

    assert "torch" not in megabytes
    # What trim.sh takes out: symbols, tests, descriptions of services, grammars, a shell, and types (`*.pyi`).
    removed = {"av": 26.0, "botocore": 17.0, "cryptography": 3.0, "lxml": 4.6, "numpy": 10.7, "uvloop": 12.0, "pyi": 1}
    removed |= {"pygments": 3.9, "wcwidth": 3.6, "prompt-toolkit": 1.4}
    total = SYSTEM_MB + sum(megabytes.values()) - sum(removed.values())
    assert total < IMAGE_LIMIT_MB, sorted(megabytes.items(), key=lambda item: -item[1])[:8]


def copied(dockerfile: Path) -> Iterator[str]:
    for line in re.findall(r"^COPY (?!--from)(.*)$", dockerfile.read_text(), re.MULTILINE):
        yield from line.split()[:-1]


def printed_requirements(extras: str) -> set[str]:
    outcome = run_requirements(extras)
    assert outcome.returncode == 0, outcome.stderr
    return {canonicalize_name(Requirement(line).name) for line in outcome.stdout.splitlines()}


def run_requirements(extras: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, DOCKER / "requirements.py", ROOT / "pyproject.toml", extras]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def closure(names: set[str]) -> set[str]:
    """With everything that they need in turn; extras of theirs left out, as pip does."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found:
            continue
        found.add(name)
        for line in importlib.metadata.requires(name) or []:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return found


def installed_bytes(name: str) -> int:
    files = importlib.metadata.files(name) or []
    paths = (Path(str(file.locate())) for file in files if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.is_file())
