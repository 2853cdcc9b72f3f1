"""CHANGELOG.md is in the form of keepachangelog.com, and tells of the version that this is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINES = (ROOT / "CHANGELOG.md").read_text().splitlines()
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
RELEASE = re.compile(r"## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d")


def test_it_begins_with_what_is_not_released() -> None:
    headings = [line for line in LINES if line.startswith("## ")]

    assert headings[0] == "## [Unreleased]"
    assert all(RELEASE.fullmatch(line) for line in headings[1:]), headings


def test_its_newest_release_is_the_projects_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

    assert next(found[1] for line in LINES if (found := RELEASE.fullmatch(line))) == version


def test_each_kind_of_change_stands_once_in_a_release() -> None:
    for release in "\n".join(LINES).split("\n## ")[1:]:
        kinds = re.findall(r"^### (.*)$", release, re.MULTILINE)

        assert set(kinds) <= KINDS
        assert len(kinds) == len(set(kinds))
