"""What of the scripts' shared part a script needs, and nothing else.

The server runs a script from its first line at every call, so each shared function that is there is made anew each
time, used or not. All of them together were a quarter of a claim's time in the server.

The shared part is written for this: at the margin stand only the beginnings and the ends of `local function f`,
`function t.f`, `local a, b = ...` and `a = ...`, and comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_MARGIN = re.compile(r"\w")
_END = re.compile(r"end\b")
_COMMENT = re.compile(r"\s--[^'\"\n]*$", re.MULTILINE)
"""Never a part of a string, which would end behind it."""

_NAMES = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_PROVIDES = (
    re.compile(r"local function (\w+)"),
    re.compile(r"function ([\w.]+)"),
    re.compile(r"local (\w+(?:, \w+)*)"),
    re.compile(r"\b(\w+) = "),
)


class NotLinkable(ValueError):
    """A statement of the shared part provides no name by which it could be asked for; the message shows it."""


@dataclass(frozen=True, slots=True)
class _Statement:
    text: str
    provides: frozenset[str]
    names: frozenset[str]


def linked(shared: str, body: str) -> str:
    """The body behind what it needs of `shared`, in the order of that. Raises `NotLinkable`."""
    statements = _parsed(shared)
    kept: set[int] = set()
    needed = set(_names(body))
    while found := [i for i, each in enumerate(statements) if i not in kept and not each.provides.isdisjoint(needed)]:
        kept.update(found)
        needed.update(*(statements[i].names for i in found))
    return "\n".join([*(statements[i].text for i in sorted(kept)), body])


# Whoever opens a store loads dozens of scripts, nearly all with the same shared part.
@lru_cache(maxsize=16)
def _parsed(shared: str) -> tuple[_Statement, ...]:
    return tuple(_statement(text) for text in _statements(shared))


def _statements(shared: str) -> Iterator[str]:
    lines: list[str] = []
    for line in shared.splitlines():
        if line.lstrip().startswith("--") or not line.strip():
            continue
        if _MARGIN.match(line) and not _END.match(line) and lines:
            yield "\n".join(lines)
            lines = []
        lines.append(line)
    if lines:
        yield "\n".join(lines)


def _statement(text: str) -> _Statement:
    for pattern in _PROVIDES:
        if found := pattern.match(text):
            return _Statement(text, frozenset(found[1].split(", ")), frozenset(_names(text)))
    raise NotLinkable(text)


def _names(text: str) -> Iterator[str]:
    """Every word that may be a name, `t.f` as itself and as `t`: too many do no harm."""
    for name in _NAMES.findall(_COMMENT.sub("", text)):
        yield name
        yield name.partition(".")[0]
