"""Which graphs there are; that they make what the step makes is a matter for a GPU."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from worker.engine.vllm.captured_steps import row_ladder


@given(st.integers(1, 1200))
def test_every_number_of_rows_has_a_rung_that_is_not_twice_too_wide(max_rows: int) -> None:
    ladder = row_ladder(max_rows)

    assert ladder[-1] == max_rows
    assert list(ladder) == sorted(set(ladder))
    for num_rows in range(1, max_rows + 1):
        assert next(rung for rung in ladder if rung >= num_rows) < min(2 * num_rows, num_rows + 32)
