"""What is compared of an example's output, and what is not."""

from __future__ import annotations

import pytest

from tests.readmes.console_blocks import command_blocks
from tests.readmes.masked_output import ids_of, is_as_told

TOLD = """queued
speaking: 0/1 segments (1 at once), 0:00 spoken
hello.wav: 1 min 2 s of speech in 1.3 s (job_01m7yj4egmh4qv6tk9s2v5c52g)
"sha256":"85021122aeff...", ... "end"
"""
PRINTED = """queued: 0/9 segments, 0:02 left
speaking: 1/9 segments
hello.wav: 0.9 s of speech in 12 s (job_01aaaaaaaaaaaaaaaaaaaaaaaa)
"sha256":"11112222333344445555", "more": [1, {}], "end"
"""


def test_numbers_ids_progress_and_what_is_left_out_may_differ() -> None:
    assert is_as_told(TOLD, PRINTED)


@pytest.mark.parametrize(
    ("one", "other"),
    [("of speech", "of sound"), ("hello.wav", "other.wav"), ('"end"', '"end" and more'), ("hello", "warning\nhello")],
)
def test_words_may_not(one: str, other: str) -> None:
    assert not is_as_told(TOLD, PRINTED.replace(one, other))


def test_what_is_not_told_of_is_not_printed() -> None:
    assert not is_as_told("", "curl: (7) Failed to connect")


def test_ids_of_a_page_stand_for_those_of_the_run() -> None:
    assert ids_of(TOLD, PRINTED) == {"job_01m7yj4egmh4qv6tk9s2v5c52g": "job_01aaaaaaaaaaaaaaaaaaaaaaaa"}


def test_commands_may_have_several_lines_and_blocks_may_say_why_they_are_not_run() -> None:
    page = (
        "a\n```console\n$ one \\\n    more\nout\n$ cat > f <<E\n> x\n> E\n```\n```sh norun: needs a GPU\nthree\n```\n"
    )

    first, second = command_blocks(page)

    assert [(each.line, each.command, each.printed) for each in first.examples] == [
        (3, "one \\\n    more", "out"),
        (6, "cat > f <<E\nx\nE", ""),
    ]
    assert (second.language, second.reason) == ("sh", "needs a GPU")
