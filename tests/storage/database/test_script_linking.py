from __future__ import annotations

import pytest

from storage.database.script_linking import NotLinkable, linked

SHARED = """\
-- What every script shares.
local K = {
  job = 'job:',
}
local FIRST, SECOND = 1, 2 -- two of one statement

local function one() return FIRST end

local later -- defined below

local function two()
  return later() + one()
end

local box = {count = 0}

function box.add(number)
  box.count = box.count + number
end

function box.drop() box.count = 0 end

later = function()
  return SECOND
end
"""


@pytest.mark.parametrize(
    ("body", "provided"),
    [
        ("return 1", []),
        ("return K.job", ["local K"]),
        ("return one()", ["local FIRST", "local function one"]),
        (
            "return two()",
            ["local FIRST", "local function one", "local later", "local function two", "later = function"],
        ),
        ("return box.count", ["local box"]),
        ("box.add(1)", ["local box", "function box.add"]),
    ],
)
def test_a_script_stands_behind_what_it_needs_in_the_order_of_that(body: str, provided: list[str]) -> None:
    text = linked(SHARED, body)

    beginnings = [line for line in text.splitlines() if line[:1].strip() and line not in ("end", "}")]
    assert len(beginnings) == len(provided) + 1
    assert all(line.startswith(start) for line, start in zip(beginnings, [*provided, body], strict=True))


def test_a_statement_that_nothing_could_ask_for_is_refused() -> None:
    with pytest.raises(NotLinkable, match="for _, name"):
        linked("local names = {}\nfor _, name in ipairs(names) do print(name) end\n", "return 1")
