"""Where tenants and jobs are placed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.router.cells import Cell, Fleet, parse_cells
from api.router.placement import Placement, place, ranking

NAMES = st.sets(st.from_regex("[a-z0-9]{1,8}", fullmatch=True), min_size=1, max_size=12)
TENANTS = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=20)


def fleet(*cells: Cell) -> Fleet:
    return Fleet({cell.name: cell for cell in cells})


def cells_of(names: set[str]) -> list[Cell]:
    return [Cell(name, f"http://{name}") for name in sorted(names)]


@given(NAMES, TENANTS, st.from_regex("[A-Z]", fullmatch=True))
def test_a_cell_that_comes_takes_its_share_and_moves_nothing_else(names: set[str], tenant: str, new: str) -> None:
    before = ranking(cells_of(names), tenant)[0]

    after = ranking([*cells_of(names), Cell(new, "http://new")], tenant)[0]

    assert after.name in (before.name, new)


@given(NAMES, TENANTS)
def test_a_cell_that_goes_leaves_the_rest_where_it_is(names: set[str], tenant: str) -> None:
    ranked = ranking(cells_of(names), tenant)

    for gone in ranked[1:]:
        assert ranking([cell for cell in ranked if cell != gone], tenant)[0] == ranked[0]


@given(NAMES, TENANTS, st.integers(1, 12))
def test_a_cell_that_drains_gets_nothing_new_and_is_still_looked_into(names: set[str], tenant: str, most: int) -> None:
    first, *others = cells_of(names | {"zz"})
    placement = Placement(fleet(replace(first, is_draining=True), *others), {tenant: most})

    assert first.name not in {cell.name for cell in placement.homes(tenant)}
    assert {cell.name for cell in placement.every_cell(tenant)} == {first.name, *(cell.name for cell in others)}


@given(NAMES, TENANTS, st.integers(1, 12))
def test_homes_come_first_where_something_is_looked_for(names: set[str], tenant: str, most: int) -> None:
    placement = Placement(fleet(*cells_of(names)), {tenant: most})

    homes = placement.homes(tenant)

    assert 1 <= len(homes) <= most
    assert placement.every_cell(tenant)[: len(homes)] == homes
    assert place(homes, tenant, "a key") in homes


def test_shares_are_as_the_weights_say() -> None:
    cells = [Cell("a", "http://a"), Cell("b", "http://b", weight=3)]

    placed = [ranking(cells, f"tenant-{number}")[0].name for number in range(4000)]

    assert 2900 < placed.count("b") < 3100


def test_a_tenant_can_be_kept_where_it_is() -> None:
    cells = cells_of({"a", "b", "c"})
    placement = Placement(fleet(*cells), {"old": ("c",), "both": ("a", "b")})

    assert [cell.name for cell in placement.homes("old")] == ["c"]
    assert {cell.name for cell in placement.homes("both")} == {"a", "b"}


def test_a_tenant_whose_own_cells_all_drain_has_another() -> None:
    cells = [Cell("a", "http://a", is_draining=True), Cell("b", "http://b")]

    assert [cell.name for cell in Placement(fleet(*cells), {"old": ("a",)}).homes("old")] == ["b"]


def test_cells_are_named_with_their_address_state_and_weight() -> None:
    parsed = parse_cells("b=https://b.example;weight=2;draining, a=http://10.0.0.1:8765/")

    assert list(parsed) == [
        Cell("a", "http://10.0.0.1:8765"),
        Cell("b", "https://b.example", weight=2, is_draining=True),
    ]
    assert [cell.name for cell in parsed.active] == ["a"]


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "a=", "A=http://a", "a=ftp://a", "a=http://a/path", "a=http://a;draining", "a=http://a,a=http://b"),
        *("a=http://a;weight=0", "a=http://a;weight=x", "a=http://a;paused"),
    ],
)
def test_what_names_no_cells_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"cell|name=url"):
        parse_cells(text)
