"""What a spread tenant may hold is divided among its cells: never more, never less, and where it is needed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from api.router.cells import Cell
from api.router.quotas import divided, is_due
from rhapsode.contract.operators.quotas import MOST, QuotaAmounts, QuotaOrder, QuotaView

NOTHING = QuotaAmounts(jobs=None, audio_s=None, voices=None, stored_bytes=None)


def view(jobs: int = 0, audio_s: float = 0.0, stored_bytes: int = 0, own: QuotaOrder | None = None) -> QuotaView:
    held = QuotaAmounts(jobs=jobs, audio_s=audio_s, voices=0, stored_bytes=stored_bytes)
    limits = NOTHING if own is None else QuotaAmounts(**own.model_dump())
    return QuotaView(tenant="t", limits=limits, own=limits, held=held)


def cells(number: int, weight: int = 1) -> list[Cell]:
    return [Cell(chr(97 + n), f"http://h{n}", weight) for n in range(number)]


@given(
    st.lists(st.tuples(st.integers(0, MOST // 8), st.integers(1, 1000)), min_size=1, max_size=8),
    st.integers(0, MOST // 8),
)
def test_shares_are_together_the_whole(held: list[tuple[int, int]], limit: int) -> None:
    views = {Cell(f"c{n}", f"http://h{n}", weight): view(jobs) for n, (jobs, weight) in enumerate(held)}

    shares = [order.jobs or 0 for order in divided(QuotaOrder(jobs=limit), views).values()]

    assert sum(shares) == limit
    assert all(share >= 0 for share in shares)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=8), st.integers(0, 10**7))
def test_a_cell_keeps_what_it_holds_where_there_is_room(held: list[int], spare: int) -> None:
    views = dict(zip(cells(len(held)), map(view, held), strict=True))

    shares = divided(QuotaOrder(jobs=sum(held) + spare), views)

    assert all((order.jobs or 0) >= has - 1 for order, has in zip(shares.values(), held, strict=True))


def test_what_nobody_uses_goes_by_weight_and_what_is_held_stays() -> None:
    small, large = Cell("a", "http://a", 1), Cell("b", "http://b", 3)

    shares = divided(QuotaOrder(jobs=100, audio_s=1000), {small: view(60, 0.0), large: view(0, 400.0)})

    assert (shares[small].jobs, shares[large].jobs) == (70, 30)
    assert (shares[small].audio_s, shares[large].audio_s) == (150, 850)


def test_where_more_is_held_than_may_be_nobody_gets_more() -> None:
    first, second = cells(2)

    shares = divided(QuotaOrder(jobs=100), {first: view(300), second: view(100)})

    assert (shares[first].jobs, shares[second].jobs) == (75, 25)


def test_voices_lie_in_each_cell_and_what_has_no_limit_has_none() -> None:
    shares = divided(QuotaOrder(voices=5), dict.fromkeys(cells(3), view()))

    assert all(order == QuotaOrder(voices=5) for order in shares.values())


def test_cells_are_told_when_it_makes_a_difference() -> None:
    first, second = cells(2)
    total = QuotaOrder(jobs=1000)
    half = QuotaOrder(jobs=500)
    settled = {first: view(100, own=half), second: view(100, own=half)}

    assert not is_due(total, divided(total, settled), settled)
    assert is_due(total, divided(total, settled), settled | {second: view(100)})
    moved = settled | {first: view(150, own=half)}
    assert is_due(total, divided(total, moved), moved)
    hardly = settled | {first: view(110, own=half)}
    assert not is_due(total, divided(total, hardly), hardly)
