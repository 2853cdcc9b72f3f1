"""Every regular expression of the project: found, so that the next one is looked at without anybody adding it."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("api", "worker", "storage", "reading", "rhapsode")

AnyPattern = re.Pattern[str] | re.Pattern[bytes]


def modules_with_patterns() -> Iterator[str]:
    """Those that import `re`, by name."""
    for file in sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py")):
        if "import re\n" in file.read_text(encoding="utf-8"):
            name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            yield name.removesuffix(".__init__")


def patterns_of(name: str) -> dict[str, AnyPattern]:
    """What a module holds, in whatever it holds it in: each once, by the first place where it is."""
    found: dict[str, AnyPattern] = {}
    module = importlib.import_module(name)
    for attribute, value in vars(module).items():
        _collect(f"{name}.{attribute}", value, found, depth=0)
    for place, pattern in _written_inside(module):
        found[f"{name}:{place}"] = pattern
    return found


def _collect(place: str, value: Any, found: dict[str, AnyPattern], depth: int) -> None:
    if isinstance(value, re.Pattern):
        if value not in found.values():
            found[place] = value
    elif depth < 3 and isinstance(value, dict):
        for key, each in value.items():
            _collect(f"{place}[{key!r}]", each, found, depth + 1)
    elif depth < 3 and isinstance(value, list | tuple | set | frozenset):
        for number, each in enumerate(value):
            _collect(f"{place}[{number}]", each, found, depth + 1)
    elif depth < 3 and type(value).__module__.split(".")[0] in PACKAGES and not isinstance(value, type):
        for key, each in _fields(value).items():
            _collect(f"{place}.{key}", each, found, depth + 1)


def _fields(value: Any) -> dict[str, Any]:
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return dict(getattr(value, "__dict__", {})) | {name: getattr(value, name) for name in slots if hasattr(value, name)}


def _written_inside(module: ModuleType) -> Iterator[tuple[int, AnyPattern]]:
    """Patterns that stand in a function's text, as in `re.match("...", text)`; with their line."""
    for call in calls_inside_functions(Path(str(module.__file__))):
        match call.args[0]:
            case ast.Constant(value=str() | bytes() as pattern):
                yield call.lineno, re.compile(pattern)
            case _:
                continue


def patterns_built_inside(name: str) -> Iterator[str]:
    """Functions that put a pattern together out of what they are given: `module.function`."""
    file = ROOT.joinpath(*name.split(".")).with_suffix(".py")
    for function, call in _calls(file):
        if not isinstance(call.args[0], ast.Constant):
            yield f"{name}.{function}"


def calls_inside_functions(file: Path) -> Iterator[ast.Call]:
    for _, call in _calls(file):
        yield call


def _calls(file: Path) -> Iterator[tuple[str, ast.Call]]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and _is_of_re(node.func):
                yield function.name, node


def _is_of_re(called: ast.expr) -> bool:
    return (
        isinstance(called, ast.Attribute)
        and isinstance(called.value, ast.Name)
        and called.value.id == "re"
        and called.attr not in ("escape",)
    )
