"""The checkpoint's configuration files as typed values.

There are no defaults: upstream's class defaults describe another model, so a field that is absent is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from worker.engine.errors import CheckpointError


class ConfigFields:
    """One JSON object of a configuration file, read field by field.

    Every reader raises CheckpointError naming the file and the dotted field when it is missing or wrongly typed.
    """

    def __init__(self, data: Mapping[str, object], source: str, path: str = "") -> None:
        self._data = data
        self._source = source
        self._path = path

    def integer(self, name: str) -> int:
        value = self._field(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong_type(name, "an integer")
        return value

    def number(self, name: str) -> float:
        value = self._field(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong_type(name, "a number")
        return float(value)

    def text(self, name: str) -> str:
        value = self._field(name)
        if not isinstance(value, str):
            raise self._wrong_type(name, "a string")
        return value

    def boolean(self, name: str) -> bool:
        value = self._field(name)
        if not isinstance(value, bool):
            raise self._wrong_type(name, "true or false")
        return value

    def integers(self, name: str) -> tuple[int, ...]:
        value = self._field(name)
        if not isinstance(value, list):
            raise self._wrong_type(name, "a list of integers")
        items = cast("list[object]", value)
        numbers = [item for item in items if isinstance(item, int) and not isinstance(item, bool)]
        if len(numbers) != len(items):
            raise self._wrong_type(name, "a list of integers")
        return tuple(numbers)

    def mapping(self, name: str) -> Mapping[str, object]:
        """A JSON object whose keys are data (speakers, languages), not fields."""
        value = self._field(name)
        if not isinstance(value, dict):
            raise self._wrong_type(name, "an object")
        return cast("dict[str, object]", value)

    def section(self, name: str) -> ConfigFields:
        return ConfigFields(self.mapping(name), self._source, f"{self._path}{name}.")

    def has(self, name: str) -> bool:
        """For sections that only some kinds of checkpoint carry."""
        return name in self._data

    def names(self) -> tuple[str, ...]:
        return tuple(self._data)

    def wrong(self, name: str, complaint: str) -> CheckpointError:
        """The error for a field that is there and well typed, and still cannot be."""
        return CheckpointError(f"{self._source}: {self._path}{name} {complaint}")

    def _field(self, name: str) -> object:
        if name not in self._data:
            raise self.wrong(name, "is missing")
        return self._data[name]

    def _wrong_type(self, name: str, expected: str) -> CheckpointError:
        return self.wrong(name, f"should be {expected}, is {self._data[name]!r}")


def read_config(path: Path) -> ConfigFields:
    """The top-level object of a JSON file. Raises CheckpointError with the path when there is none."""
    try:
        data: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"cannot read the configuration in {path}: {error}") from error
    if not isinstance(data, dict):
        raise CheckpointError(f"{path} does not hold a JSON object")
    return ConfigFields(cast("dict[str, object]", data), str(path))
