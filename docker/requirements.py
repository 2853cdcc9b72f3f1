"""Print what some extras of the project need, one requirement a line: `python requirements.py pyproject.toml api`.

An image installs these in a layer of their own, which a change of the project's code leaves as it is.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

OWN_EXTRAS = re.compile(r"rhapsode\[([^]]+)\]")


def requirements(project: Mapping[str, Any], extras: Sequence[str]) -> Iterator[str]:
    """Of the project itself and of its `extras`, through the extras that these name. Raises `KeyError` for others."""
    yield from project["dependencies"]
    for extra in extras:
        yield from _of_extra(project["optional-dependencies"], extra)


def _of_extra(known: Mapping[str, Sequence[str]], extra: str) -> Iterator[str]:
    for requirement in known[extra]:
        if own := OWN_EXTRAS.fullmatch(requirement):
            for other in own[1].split(","):
                yield from _of_extra(known, other)
        else:
            yield requirement


def main() -> None:
    path, *extras = sys.argv[1:]
    project = tomllib.loads(Path(path).read_text())["project"]
    named = [extra for argument in extras for extra in argument.split(",")]
    try:
        sys.stdout.writelines(f"{line}\n" for line in dict.fromkeys(requirements(project, named)))
    except KeyError as error:
        sys.exit(f"pyproject.toml has no extra {error}")


if __name__ == "__main__":
    main()
