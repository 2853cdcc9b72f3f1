"""Lines of the terminal say a thing once."""

from __future__ import annotations

import pytest

from rhapsode.cli.formatting import warned
from rhapsode.contract.jobs.quality import JobWarning


@pytest.mark.parametrize(
    ("segment", "detail", "line"),
    [
        (None, "too loud", "warning: too loud (code)"),
        (3, "no speech in it", "warning: segment 3: no speech in it (code)"),
        (3, "segment 3 did not pass", "warning: segment 3 did not pass (code)"),
        (3, "seg_000003 is damaged", "warning: seg_000003 is damaged (code)"),
    ],
)
def test_a_warning_names_its_segment_once(segment: int | None, detail: str, line: str) -> None:
    assert warned(JobWarning(code="code", detail=detail, segment=segment)) == line
