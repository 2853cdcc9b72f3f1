"""The page of options is current, and holds every field of a request."""

from __future__ import annotations

from pathlib import Path

from rhapsode.contract.jobs.option_table import option_page
from rhapsode.contract.jobs.request import JobRequest

PAGE = Path(__file__).parents[4] / "api" / "OPTIONS.md"


def test_the_page_of_options_is_current() -> None:
    assert PAGE.read_text() == option_page(), "run: python -m rhapsode.contract.jobs.option_table > api/OPTIONS.md"


def test_every_field_has_a_line() -> None:
    lines = option_page().splitlines()

    for name in JobRequest.model_fields:
        assert any(line.startswith((f"| `{name}`", f"| `{name}[]`")) for line in lines), name
    assert any(
        line.startswith("| `output.destination.prefix` | text, at most 200 characters | required |") for line in lines
    )
