"""The contract as it was last agreed to, a line for each field, and what a change of the code would change of it.

`make openapi` writes the snapshot anew and says what changed. Its examples are in `api/openapi/examples.json`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.api.openapi.contract import document

SNAPSHOT = Path(__file__).with_name("openapi.txt")

Lines = dict[str, str]
"""By what they are about: an operation's parameter or answer, a model, a field of one."""


def current() -> Lines:
    return snapshot(document())


def kept() -> Lines:
    if not SNAPSHOT.exists():
        return {}
    pairs = (line.partition(" = ") for line in SNAPSHOT.read_text().splitlines())
    return {place: said for place, _, said in pairs}


def differences(old: Lines, new: Lines) -> Iterator[str]:
    """A line for each: `+` new, `-` gone, `~` changed."""
    for place in sorted(old.keys() | new.keys()):
        if place not in new:
            yield f"- {place}"
        elif place not in old:
            yield f"+ {place}"
        elif old[place] != new[place]:
            yield f"~ {place}"


def snapshot(described: dict[str, Any]) -> Lines:
    plain = json.loads(json.dumps(described))
    components = plain.pop("components")
    found = [*_operations(plain.pop("paths"), "")]
    found += _operations(plain.pop("webhooks"), "webhook ")
    for name, schema in components.pop("schemas").items():
        found += _schema(name, schema)
    found += ((f"{kind} {name}", each) for kind, entries in components.items() for name, each in entries.items())
    found += plain.items()
    return {place: json.dumps(_unexampled(said), sort_keys=True, ensure_ascii=False) for place, said in sorted(found)}


def _operations(paths: dict[str, Any], kind: str) -> Iterator[tuple[str, Any]]:
    for path, methods in paths.items():
        for method, operation in methods.items():
            place = f"{kind}{path} {method}"
            for parameter in operation.pop("parameters", []):
                yield f"{place} {parameter['in']} {parameter['name']}", parameter
            for status, answer in operation.pop("responses", {}).items():
                for name, link in answer.pop("links", {}).items():
                    yield f"{place} {status} link {name}", link
                yield f"{place} {status}", answer
            yield place, operation


def _schema(name: str, schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Whether a field is required stands with the field, so that a new one is one line."""
    required = schema.pop("required", [])
    for field, said in schema.pop("properties", {}).items():
        yield f"{name}.{field}{'' if field in required else '?'}", said
    yield name, schema


def _unexampled(said: Any) -> Any:
    match said:
        case {"content": {**contents}}:
            bare = {kind: {key: each[key] for key in each if "example" not in key} for kind, each in contents.items()}
            return {**{key: _unexampled(each) for key, each in said.items()}, "content": bare}
        case dict():
            return {key: _unexampled(each) for key, each in said.items()}
        case _:
            return said


def main() -> None:
    old, new = kept(), current()
    changed = list(differences(old, new))
    SNAPSHOT.write_text("".join(f"{place} = {said}\n" for place, said in new.items()))
    sys.stdout.write("\n".join([*changed, f"{len(changed)} lines have changed", ""]))


if __name__ == "__main__":
    main()
