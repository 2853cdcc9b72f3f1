"""Files that a program makes are as their sources say."""

from __future__ import annotations

import re

import pytest

from generators.everything import everything
from generators.files import Files, stale


@pytest.fixture(scope="module")
def files() -> Files:
    return everything()


def test_what_is_made_is_as_its_sources_say(files: Files) -> None:
    assert stale(files) == []
    assert len(files) > 4


def test_a_file_that_is_made_says_first_from_what_and_how(files: Files) -> None:
    for path, text in files.items():
        beginning = "\n".join(text.splitlines()[:3])
        assert not text or re.search(r"Made from \S+ by `make generated`; change that", beginning), path
