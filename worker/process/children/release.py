"""What two processes must have in common to understand each other's pickles."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from enum import Enum
from inspect import isfunction, signature
from types import ModuleType


def release_of(*modules: ModuleType) -> bytes:
    """A digest of the classes that the modules define: of dataclasses their fields, of enums their members, of
    other classes their methods' parameters.

    A pickle holds the values of a dataclass by place. A worker whose code was replaced under it would start a child
    that takes one field for another.
    """
    described = sorted(
        _described(kind)
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__
    )
    return hashlib.sha256("\n".join(described).encode()).digest()


def _described(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}({', '.join(_parts(kind))})"


def _parts(kind: type) -> list[str]:
    if is_dataclass(kind):
        return [f"{field.name}: {field.type}" for field in fields(kind)]
    if issubclass(kind, Enum):
        return [f"{member.name}={member.value!r}" for member in kind]
    return [f"{name}({', '.join(signature(each).parameters)})" for name, each in vars(kind).items() if isfunction(each)]
