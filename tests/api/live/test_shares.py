"""Who may take a live place that is free."""

from __future__ import annotations

from collections import Counter

from api.live.shares import WAITING_S, PlaceShares
from storage.ids import TenantId

ANN, BEN, EVE = TenantId("ann"), TenantId("ben"), TenantId("eve")


def test_while_nobody_was_refused_a_tenant_may_have_every_place() -> None:
    assert not PlaceShares().has_enough("m", ANN, Counter({ANN: 7}), 1)


def test_the_last_places_are_for_those_who_were_refused_and_have_less() -> None:
    now_s = 0.0
    shares = PlaceShares(lambda: now_s)
    shares.refused("m", BEN)

    assert shares.has_enough("m", ANN, Counter({ANN: 7}), 1)
    assert not shares.has_enough("m", ANN, Counter({ANN: 6}), 2)
    assert not shares.has_enough("m", BEN, Counter({ANN: 7}), 1)
    assert not shares.has_enough("m", EVE, Counter({ANN: 7}), 1)
    assert not shares.has_enough("m", ANN, Counter({ANN: 1, BEN: 6}), 1)
    assert not shares.has_enough("other", ANN, Counter({ANN: 7}), 1)

    now_s = WAITING_S + 0.1
    assert not shares.has_enough("m", ANN, Counter({ANN: 7}), 1)
