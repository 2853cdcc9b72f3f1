"""What counts as an audit: only a database that knows the known, and only what was looked up."""

from __future__ import annotations

import json

import pytest

from tests.security.audit import (
    CLEAN,
    NOT_AUDITED,
    VULNERABLE,
    Dependency,
    NotAudited,
    check_control,
    read_report,
    verdict,
)

REPORT = {
    "dependencies": [
        {"name": "sound", "version": "1.0", "vulns": []},
        {
            "name": "leaky",
            "version": "2.0",
            "vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["2.1"], "aliases": [], "description": "It leaks."}],
        },
        {"name": "unknown", "skip_reason": "Dependency not found on PyPI and could not be audited: unknown (3.0)"},
    ],
    "fixes": [],
}


def test_a_report_says_what_is_vulnerable_and_what_nobody_knows() -> None:
    status, lines = verdict(read_report(json.dumps(REPORT)))

    assert status == VULNERABLE
    assert lines[0] == "VULNERABLE  leaky 2.0: PYSEC-2026-1 (fixed in 2.1)"
    assert lines[1].startswith("NOT AUDITED unknown: ")
    assert lines[2] == "3 dependencies, 1 vulnerable, 1 not audited"


@pytest.mark.parametrize(
    ("found", "status"),
    [
        ([Dependency("sound", "1.0")], CLEAN),
        ([Dependency("sound", "1.0"), Dependency("unknown", "", (), "not found")], NOT_AUDITED),
        ([], NOT_AUDITED),
    ],
)
def test_only_what_was_looked_up_passes(found: list[Dependency], status: int) -> None:
    assert verdict(found)[0] == status


def test_a_database_that_does_not_know_the_known_is_none() -> None:
    check_control([Dependency("jinja2", "2.4.1", ("PYSEC-2014-8",))])
    for answer in ([], [Dependency("jinja2", "2.4.1")], [Dependency("jinja2", "", (), "not found")]):
        with pytest.raises(NotAudited, match="cannot be reached"):
            check_control(answer)


@pytest.mark.parametrize("output", ["", "no JSON", "[]", "{}"])
def test_no_report_is_no_pass(output: str) -> None:
    with pytest.raises(NotAudited):
        read_report(output)
