from __future__ import annotations

import pytest

from rhapsode.cli.narrate.files import title_of


@pytest.mark.parametrize(
    ("file", "title"),
    [
        ("books/The Fables.v2.epub", "The Fables.v2"),
        ("tab\tand\nline.md", "tab and line"),
        ("half of a\udc80letter.txt", "half of a letter"),
        ("\u202eevil.txt", "evil"),
        ("物語.txt", "物語"),
        (f"{'x' * 250}.txt", "x" * 200),
    ],
)
def test_a_files_name_is_the_title(file: str, title: str) -> None:
    assert title_of(file) == {"title": title}


@pytest.mark.parametrize("file", ["-", "\x01.txt"])
def test_what_has_no_name_has_no_title(file: str) -> None:
    assert title_of(file) == {}
