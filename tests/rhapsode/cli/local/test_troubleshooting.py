"""The table of what `rhapsode doctor` says and what to do about it names what doctor can say, and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import rhapsode
from rhapsode.cli.local import doctor
from rhapsode.cli.local.requirements import PARTS

PAGE = Path(rhapsode.__file__).parents[1] / "docs" / "reference" / "cli.md"


def test_every_complaint_of_doctor_has_a_row_and_every_row_is_one() -> None:
    source = ast.parse(Path(doctor.__file__).read_text())

    said = set(complaints(source))

    assert said
    assert set(rows()) == said


def test_doctor_knows_a_folder_of_another_version(tmp_path: Path) -> None:
    (tmp_path / "layout").write_text("1\n")

    (finding,) = doctor._data_folder(tmp_path)  # pyright: ignore[reportPrivateUsage]

    assert finding.kind == "missing"
    assert f"{tmp_path} was written by another version of Rhapsode (layout 1," in finding.detail


def complaints(source: ast.Module) -> Iterator[str]:
    """Subjects of the findings that are not `ok`."""
    for node in ast.walk(source):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "MachineFinding"):
            continue
        kind, subject = node.args[:2]
        if "ok" in {each.value for each in ast.walk(kind) if isinstance(each, ast.Constant)}:
            continue
        if isinstance(subject, ast.Constant):
            yield str(subject.value)
        else:
            assert ast.unparse(subject) == "part.name"
            yield from (part.name for part in PARTS)


def rows() -> Iterator[str]:
    table = PAGE.read_text().partition("| `doctor` says |")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        yield from re.findall(r"`([^`]+)`", line.split("|")[1])
