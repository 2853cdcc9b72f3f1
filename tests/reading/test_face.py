"""What `reading` needs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PARSERS = {"charset_normalizer", "lxml", "markdown_it", "num2words", "nupunkt", "pypdfium2_raw"}
PROGRAM = """
import sys, reading.estimates
print(sorted(name for name in sys.modules if name.startswith("reading.") or name in ("lxml", "nupunkt", "pydantic")))
"""


def test_an_estimate_loads_no_parser() -> None:
    outcome = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)

    assert outcome.stdout == "['reading.estimates']\n"


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
