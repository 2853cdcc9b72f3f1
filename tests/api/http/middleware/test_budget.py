"""Pieces a second."""

from __future__ import annotations

import pytest

from api.http.middleware.budget import Budget


def test_a_budget_lets_a_burst_through_and_then_its_rate() -> None:
    now_s = 0.0
    budget = Budget(100.0, 500, lambda: now_s)
    budget.take(500)
    assert budget.wait_s() == 0.0
    budget.take(50)
    assert budget.wait_s() == pytest.approx(0.5)
    now_s = 0.25
    assert budget.wait_s() == pytest.approx(0.25)
    now_s = 1_000.0
    budget.take(500)
    assert budget.wait_s() == 0.0
