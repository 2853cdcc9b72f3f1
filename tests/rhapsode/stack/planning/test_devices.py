"""`--device` and RHAPSODE_DEVICE as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rhapsode.stack.errors import PlanRefused
from rhapsode.stack.planning.devices import parse_devices


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        ("cpu", ("cpu",)),
        ("mps", ("mps",)),
        ("cuda", ("cuda:0",)),
        ("cuda:0,cuda:1", ("cuda:0", "cuda:1")),
        (" cuda:3 , cuda:01 ", ("cuda:3", "cuda:1")),
    ],
)
def test_devices_are_read(text: str, devices: tuple[str, ...]) -> None:
    assert parse_devices("--device", text) == devices


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cuda:0,cuda:0", "cuda:0 is named twice"),
        ("cuda,cuda:0", "cuda:0 is named twice"),
        ("cpu,cpu", "cpu is named twice"),
        ("cuda:0,cpu", "cpu stands alone"),
        ("gpu0", "'gpu0' is no device; write cpu, or GPUs such as cuda:0,cuda:1"),
        ("", "'' is no device"),
        ("cuda:0,", "'' is no device"),
        ("cuda:", "'cuda:' is no device"),
        ("cuda:-1", "'cuda:-1' is no device"),
        ("cuda:1234", "'cuda:1234' is no device"),
        ("cuda:٣", "is no device"),
        ("x" * 10_000, f"{'x' * 40!r} is no device"),
    ],
)
def test_what_is_no_list_of_devices_is_refused_in_one_line(text: str, words: str) -> None:
    with pytest.raises(PlanRefused) as refused:
        parse_devices("RHAPSODE_DEVICE", text)

    said = str(refused.value)
    assert said.startswith(f"RHAPSODE_DEVICE: {words}") or words in said
    assert "\n" not in said
    assert len(said) < 200


@given(st.text(max_size=40))
def test_any_text_is_devices_or_refused(text: str) -> None:
    try:
        devices = parse_devices("--device", text)
    except PlanRefused:
        return
    assert devices
    assert len(set(devices)) == len(devices)
