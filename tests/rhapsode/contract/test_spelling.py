"""In how many modules a field of the contract is spelled: what one more option of a job costs to add."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MODULES = tuple(
    (module.relative_to(ROOT), module.read_text())
    for package in ("api", "rhapsode", "storage", "worker")
    for kind in ("py", "lua", "js", "html")
    for module in (ROOT / package).rglob(f"*.{kind}")
    if not module.read_text().startswith(("# Made from ", "// Made from "))
)
"""What a program makes costs nobody anything."""

MOST = {"deadline": 39, "destination": 14, "not_before": 24, "reproducibility": 17, "retention_s": 26}
"""Modules of the product that may spell a field, in its unit (`not_before_ms`) or out of it. Lower it with the code;
what has to raise it carries by hand what the contract or the submission carries already."""


@pytest.mark.parametrize("field", MOST)
def test_a_field_is_spelled_in_no_more_modules_than_it_was(field: str) -> None:
    # `context.destination` is where a browser's sound goes.
    spelled = re.compile(rf"(?<![a-z])(?<!context\.){field}(?![a-z])")
    found = sorted(str(path) for path, text in MODULES if spelled.search(text))

    assert len(found) <= MOST[field], "\n".join(found)
