"""What `reading` shows of itself."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import reading

ROOT = Path(__file__).parents[2]
PARSERS = {"charset_normalizer", "lxml", "markdown_it", "num2words", "nupunkt", "pypdfium2_raw"}
PROGRAM = """
import sys, reading
print(sorted(name for name in sys.modules if name.startswith("reading.") or name in ("lxml", "nupunkt", "pydantic")))
"""


@pytest.mark.parametrize("name", reading.__all__)
def test_every_name_is_found(name: str) -> None:
    assert callable(getattr(reading, name))


def test_a_name_that_it_has_not_is_refused() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = reading.no_such_name


def test_the_import_loads_nothing() -> None:
    outcome = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)

    assert outcome.stdout == "[]\n"


def test_it_needs_parsers_and_the_contract_alone() -> None:
    found = {name for file in (ROOT / "reading").rglob("*.py") for name in imports(file)}

    others = {name for name in found if name.split(".")[0] not in {"reading", *PARSERS, *sys.stdlib_module_names}}
    assert {name for name in others if not name.startswith("rhapsode.contract.")} == set()
    assert others


def imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
