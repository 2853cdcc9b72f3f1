"""The pages about errors are of every code, and say of each what the table has."""

from __future__ import annotations

from api.http.problems.codes import CODES
from generators.error_pages import MADE, error_pages, error_table


def test_the_table_begins_with_what_a_client_does() -> None:
    _title, _origin, first, *_ = error_table()[MADE].split("\n\n")
    assert first.startswith("After a 4xx, change the request.")


def test_every_code_has_a_line_and_a_page() -> None:
    table = error_table()[MADE]
    pages = dict(error_pages())

    for each in CODES:
        assert f"| `{each.code}` |" in table
        assert each.remedy in table
        assert each.remedy in pages[each.code]
        assert each.meaning[1:] in pages[each.code]
        assert all(str(status) in pages[each.code] for status in each.statuses)
        assert ("`error` of a job" in pages[each.code]) == each.in_jobs
