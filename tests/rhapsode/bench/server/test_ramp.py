"""How the most streams are found."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rhapsode.bench.server.plan import NEAR, next_streams


@settings(deadline=None, derandomize=True)
@given(carries=st.integers(0, 5_000), most=st.integers(1, 4_096))
def test_what_a_server_carries_is_found_in_few_steps_to_an_eighth(carries: int, most: int) -> None:
    tried: dict[int, bool] = {}
    while (streams := next_streams(tried, most)) is not None:
        assert 1 <= streams <= most
        assert streams not in tried
        tried[streams] = streams <= carries

    found = max((streams for streams, is_carried in tried.items() if is_carried), default=0)
    true = min(carries, most)
    assert true - max(1, true // NEAR) <= found <= true
    assert len(tried) <= 16


@settings(deadline=None, derandomize=True)
@given(seen=st.dictionaries(st.integers(1, 64), st.booleans()), noise=st.lists(st.booleans(), min_size=64, max_size=64))
def test_a_server_that_is_now_good_and_now_bad_is_not_measured_for_ever(
    seen: dict[int, bool], noise: list[bool]
) -> None:
    tried = dict(seen)
    while (streams := next_streams(tried, 64)) is not None:
        assert streams not in tried
        tried[streams] = noise[streams - 1]
