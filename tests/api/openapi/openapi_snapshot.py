"""The contract as it was last agreed to, and what a change of the code would change of it.

`make openapi` writes the snapshot anew and says what changed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.api.openapi.contract import document

SNAPSHOT = Path(__file__).with_name("openapi.json")

DEPTH = 7
"""How many steps into the document a difference is named; deeper ones are the difference of what holds them."""


def current() -> dict[str, Any]:
    """As a client would read it."""
    return json.loads(json.dumps(document()))


def kept() -> dict[str, Any]:
    return json.loads(SNAPSHOT.read_text()) if SNAPSHOT.exists() else {}


def differences(old: object, new: object, place: tuple[str, ...] = ()) -> Iterator[str]:
    """A line for each: `+` new, `-` gone, `~` changed."""
    if old == new:
        return
    if not (isinstance(old, dict) and isinstance(new, dict)) or len(place) >= DEPTH:
        yield f"~ {' '.join(place)}"
        return
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            yield f"- {' '.join((*place, name))}"
        elif name not in old:
            yield f"+ {' '.join((*place, name))}"
        else:
            yield from differences(old[name], new[name], (*place, name))


def main() -> None:
    lines = list(differences(kept(), current()))
    SNAPSHOT.write_text(json.dumps(current(), indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    sys.stdout.write("\n".join([*lines, f"{len(lines)} places have changed", ""]))


if __name__ == "__main__":
    main()
