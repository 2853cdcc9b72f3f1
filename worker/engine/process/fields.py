"""A message's JSON object, read field by field."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TypeVar, cast

E = TypeVar("E", bound=enum.StrEnum)


class ProtocolError(Exception):
    """A frame that is not a message of this version."""


class MessageFields:
    """One JSON object, read field by field. Raises ProtocolError where a field is missing or wrongly typed."""

    def __init__(self, body: Mapping[str, object]) -> None:
        self._body = body

    def text(self, name: str) -> str:
        value = self._body.get(name)
        if not isinstance(value, str):
            raise ProtocolError(f"{name} should be text, is {value!r}")
        return value

    def text_or_none(self, name: str) -> str | None:
        return None if self._body.get(name) is None else self.text(name)

    def integer(self, name: str) -> int:
        value = self._body.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ProtocolError(f"{name} should be an integer, is {value!r}")
        return value

    def integer_or_none(self, name: str) -> int | None:
        return None if self._body.get(name) is None else self.integer(name)

    def number(self, name: str) -> float:
        value = self._body.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ProtocolError(f"{name} should be a number, is {value!r}")
        return float(value)

    def truth(self, name: str) -> bool:
        value = self._body.get(name)
        if not isinstance(value, bool):
            raise ProtocolError(f"{name} should be true or false, is {value!r}")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._body.get(name)
        if not isinstance(value, list):
            raise ProtocolError(f"{name} should be a list of texts, is {value!r}")
        items = cast("list[object]", value)
        texts = tuple(item for item in items if isinstance(item, str))
        if len(texts) != len(items):
            raise ProtocolError(f"{name} should be a list of texts, is {value!r}")
        return texts

    def integers(self, name: str) -> tuple[int, ...]:
        value = self._body.get(name)
        if not isinstance(value, list):
            raise ProtocolError(f"{name} should be a list of integers, is {value!r}")
        items = cast("list[object]", value)
        integers = tuple(item for item in items if isinstance(item, int) and not isinstance(item, bool))
        if len(integers) != len(items):
            raise ProtocolError(f"{name} should be a list of integers, is {value!r}")
        return integers

    def vectors(self, name: str) -> tuple[tuple[float, ...], ...]:
        value = self._body.get(name)
        if not isinstance(value, list):
            raise ProtocolError(f"{name} should be a list of vectors, is {value!r}")
        return tuple(_vector(name, item) for item in cast("list[object]", value))

    def member(self, name: str, kind: type[E]) -> E:
        return self._member(name, self.text(name), kind)

    def members(self, name: str, kind: type[E]) -> tuple[E, ...]:
        return tuple(self._member(name, value, kind) for value in self.texts(name))

    def section(self, name: str) -> MessageFields:
        value = self._body.get(name)
        if not isinstance(value, dict):
            raise ProtocolError(f"{name} should be an object, is {value!r}")
        return MessageFields(cast("dict[str, object]", value))

    @staticmethod
    def _member(name: str, value: str, kind: type[E]) -> E:
        try:
            return kind(value)
        except ValueError as error:
            raise ProtocolError(f"{name} should be a {kind.__name__}, is {value!r}") from error


def _vector(name: str, value: object) -> tuple[float, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    numbers = tuple(item for item in items if isinstance(item, float))
    if not items or len(numbers) != len(items):
        raise ProtocolError(f"{name} should hold lists of numbers")
    return numbers
