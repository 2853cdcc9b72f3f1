"""Console examples in Markdown: what is typed, and what the page says is printed. Pure.

A block whose fence says ```` ```console ```` is run. One that cannot be says so where its source is read:
```` ```console norun: why ````; pages are rendered alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^```(?P<language>\w*) ?(?P<info>.*)$")
_NORUN = "norun: "
COMMAND_LANGUAGES = frozenset({"console", "sh", "bash", "shell"})


@dataclass(frozen=True, slots=True)
class Example:
    """line: of the command in its page. printed: "" where the page shows nothing, and nothing is to be printed."""

    line: int
    command: str
    printed: str


@dataclass(frozen=True, slots=True)
class Block:
    """line: of the fence, from 1. reason: why it is not run; "" for one that is."""

    line: int
    language: str
    reason: str
    text: str

    @property
    def examples(self) -> list[Example]:
        return list(_examples(self))


def command_blocks(page: str) -> Iterator[Block]:
    """Every block of a page in which something is typed."""
    lines = enumerate(page.splitlines(), 1)
    for number, line in lines:
        if not (fence := _FENCE.match(line)):
            continue
        body: list[str] = []
        for _, inner in lines:
            if inner == "```":
                break
            body.append(inner)
        info = fence["info"]
        if fence["language"] in COMMAND_LANGUAGES:
            reason = info.removeprefix(_NORUN) if info.startswith(_NORUN) else ""
            yield Block(number, fence["language"], reason, "\n".join(body))


def programs(page: str) -> list[str]:
    """Its blocks in Python."""
    return re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def _examples(block: Block) -> Iterator[Example]:
    """A command goes on behind a backslash, and in lines that begin with the shell's `> `."""
    command: list[str] = []
    printed: list[str] = []
    start = 0
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        if line.startswith("$ "):
            if command:
                yield Example(start, "\n".join(command), "\n".join(printed))
            command, printed, start = [line[2:]], [], number
        elif not command:
            raise ValueError(f"line {number}: a console block begins with `$ `")
        elif not printed and (command[-1].endswith("\\") or line == ">" or line.startswith("> ")):
            command.append(line.removeprefix(">").removeprefix(" ") if line.startswith(">") else line)
        else:
            printed.append(line)
    if command:
        yield Example(start, "\n".join(command), "\n".join(printed))
