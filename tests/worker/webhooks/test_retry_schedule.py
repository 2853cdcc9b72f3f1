"""When a delivery is tried again."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.webhooks.retry_schedule import DELAYS_S, JITTER, LONGEST_RETRY_AFTER_S, retry_delay_s, wished_delay_s


@given(tries=st.integers(1, len(DELAYS_S)), wished_s=st.none() | st.floats(0, LONGEST_RETRY_AFTER_S))
def test_a_delay_is_the_schedules_give_or_take_a_fifth_and_never_shorter_than_wished(
    tries: int, wished_s: float | None
) -> None:
    delay_s = retry_delay_s(DELAYS_S, tries, wished_s)

    planned_s = DELAYS_S[tries - 1]
    assert delay_s is not None
    assert delay_s >= planned_s * (1 - JITTER)
    assert delay_s <= max(planned_s * (1 + JITTER), wished_s or 0)
    assert delay_s >= (wished_s or 0)


@given(tries=st.integers(len(DELAYS_S) + 1, 1000), wished_s=st.none() | st.floats(0, LONGEST_RETRY_AFTER_S))
def test_after_ten_attempts_it_is_given_up(tries: int, wished_s: float | None) -> None:
    assert retry_delay_s(DELAYS_S, tries, wished_s) is None


def test_the_schedule_is_standard_webhooks() -> None:
    assert [round(delay) for delay in DELAYS_S] == [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400]


@pytest.mark.parametrize(
    ("status", "header", "wished_s"),
    [
        (503, "120", 120.0),
        (429, " 0 ", 0.0),
        (503, "999999999999999999999", LONGEST_RETRY_AFTER_S),
        (500, "120", None),
        (503, None, None),
        (503, "", None),
        (503, "-5", None),
        (503, "1.5", None),
        (503, "soon", None),
        (503, "٣", None),
        (429, "Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        (429, "Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_RETRY_AFTER_S),
    ],
)
def test_what_a_receiver_asks_for_is_heard_within_reason(
    status: int, header: str | None, wished_s: float | None
) -> None:
    assert wished_delay_s(status, header) == wished_s


def test_a_date_says_how_long() -> None:
    wished_s = wished_delay_s(503, formatdate(time.time() + 90, usegmt=True))

    assert wished_s is not None
    assert 30 <= wished_s <= 90


@given(st.text())
def test_no_header_breaks_anything(header: str) -> None:
    wished_s = wished_delay_s(429, header)

    assert wished_s is None or 0 <= wished_s <= LONGEST_RETRY_AFTER_S
