"""The library's text: whole, named after what it is, and loaded by hand as well."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import redis

import storage
from storage.database.layout import LAYOUT
from storage.database.library import GROUPS, SHARED, library

STORAGE = Path(storage.__file__).parent
KEYWORDS = """
and break do else elseif end false for function if in local nil not or repeat return then true until while
redis cjson string math table ipairs pairs unpack tonumber type next error
"""


def registered() -> list[str]:
    return re.findall(r"^register(?:_reader)?\('(\w+)'", library().text, re.MULTILINE)


def test_every_module_is_part_of_it_once() -> None:
    listed = [*SHARED, *(path for group in GROUPS for path in group)]

    assert sorted(listed) == sorted(str(path.relative_to(STORAGE)) for path in STORAGE.rglob("*.lua"))


def test_every_function_has_a_caller() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in STORAGE.rglob("*.py"))

    assert len(registered()) > 50
    assert [name for name in registered() if f'"{name}"' not in code] == []


def test_no_name_is_used_that_is_not_there() -> None:
    """The server finds such a name only when it comes to the line."""
    text = re.sub(r"--[^\n]*", "", re.sub(r"'[^'\n]*'", "''", library().text.partition("\n")[2]))
    lists = [
        *re.findall(r"\blocal (\w+(?:, *\w+)*)", text),
        *re.findall(r"\bfunction[ \w.]*\(([^)]*)\)", text),
        *re.findall(r"\bfor (\w+(?:, *\w+)*) (?:=|in)", text),
    ]
    known = {name.strip() for each in lists for name in each.split(",")} | set(
        re.findall(r"\blocal function (\w+)", text)
    )

    # Not a field, a method or a key of a table.
    used = set(re.findall(r"(?<![.\w:])([A-Za-z_]\w*)(?!\w)(?!\s*=[^=])", text))

    assert used - known - set(KEYWORDS.split()) == set()


def test_its_name_says_the_layout_and_the_text() -> None:
    assert re.fullmatch(rf"rhapsode_{LAYOUT}_[0-9a-f]{{8}}", library().name)
    assert library().text.startswith(f"#!lua name={library().name}\n")


def test_what_is_printed_can_be_loaded_by_hand(redis_client: redis.Redis) -> None:
    command = [sys.executable, "-m", "storage.database.library"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=STORAGE.parent).stdout

    assert redis_client.function_load(printed, replace=True) == library().name
    (listed,) = redis_client.function_list(library().name)
    names = re.findall(rf"{library().name}_(\w+)", str(listed))
    assert set(names) >= set(registered())
