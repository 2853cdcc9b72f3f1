from __future__ import annotations

from worker.live.places import LivePlaces


def test_a_place_that_is_free_may_be_borrowed_and_still_counts_as_free() -> None:
    places = LivePlaces(2)
    called: list[str] = []

    assert places.take()
    assert places.borrow(lambda: called.append("first"))

    assert places.free == 1
    assert not places.borrow(lambda: called.append("second"))
    assert called == []


def test_who_comes_for_a_borrowed_place_has_it_and_the_newest_borrower_gives_it_up() -> None:
    places = LivePlaces(4)
    called: list[str] = []
    for name in ("first", "second"):
        assert places.take()
        assert places.borrow(lambda name=name: called.append(name))

    assert places.take()
    assert called == ["second"]
    assert places.take()
    assert called == ["second", "first"]
    assert not places.take()


def test_what_was_handed_back_is_free_for_others() -> None:
    places = LivePlaces(2)
    called: list[str] = []

    def call_back() -> None:
        called.append("me")

    assert places.take()
    assert places.borrow(call_back)
    places.hand_back(call_back)
    places.hand_back(call_back)

    assert places.take()
    assert called == []
