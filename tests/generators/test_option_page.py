"""The page of options holds every field of a request."""

from __future__ import annotations

from generators.option_page import MADE, option_page
from rhapsode.contract.jobs.request import JobRequest


def test_every_field_has_a_line() -> None:
    lines = option_page()[MADE].splitlines()

    for name in JobRequest.model_fields:
        assert any(line.startswith((f"| `{name}`", f"| `{name}[]`")) for line in lines), name
    assert any(line.startswith("| `output.destination.prefix` | text | required |") for line in lines)
