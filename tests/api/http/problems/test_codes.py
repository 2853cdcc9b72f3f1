"""The table of codes is the code's own: complete, and no more than what is said."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from api.http.problems.codes import BY_CODE, CODES

ROOT = Path(__file__).parents[4]
STATUSES = {each.code: set(each.statuses) for each in CODES}


def calls(*folders: str) -> Iterator[ast.Call]:
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            yield from (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))


def name_of(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def constant(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def test_no_code_stands_twice() -> None:
    assert len(BY_CODE) == len(CODES)


def test_every_refusal_has_a_documented_code_and_status() -> None:
    made = [call for call in calls("api") if name_of(call) == "problem" and call.args]
    refusals = [call for call in calls("api") if name_of(call) == "HttpProblem" and len(call.args) >= 2]

    # Those that pass on another one's code are not made here.
    used = {(constant(call.args[0]), constant(call.args[1])) for call in refusals if constant(call.args[1])}
    used |= {(_status(call), constant(call.args[0])) for call in made if constant(call.args[0])}
    assert len(used) > 30
    assert [(status, code) for status, code in used if status not in STATUSES.get(str(code), ())] == []


def _status(call: ast.Call) -> object:
    """The one that is given, else the usual one of the code."""
    given = next((constant(each.value) for each in call.keywords if each.arg == "status"), None)
    return given or next(iter(BY_CODE[str(constant(call.args[0]))].statuses), None)


def test_every_code_of_an_answer_has_a_title() -> None:
    assert [each.code for each in CODES if not each.title] == []


def test_every_error_of_a_job_has_a_documented_code() -> None:
    made = [call for call in calls("worker", "storage") if name_of(call) in ("unusable", "JobError") and call.args]
    codes = {constant(call.args[0]) for call in made} - {None}

    of_jobs = {each.code for each in CODES if each.in_jobs}
    assert codes
    assert codes - of_jobs == set()


def test_no_documented_code_is_unheard_of() -> None:
    """What nothing says any more would be a promise that is not kept."""
    text = "".join(
        path.read_text()
        for folder in ("api", "worker", "storage")
        for suffix in ("*.py", "*.lua")
        for path in (ROOT / folder).rglob(suffix)
        if path.name != "codes.py"
    )

    assert [code for code in BY_CODE if f'"{code}"' not in text and f"'{code}'" not in text] == []
