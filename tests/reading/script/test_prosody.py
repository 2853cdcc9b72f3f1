"""Rates and volumes as vendors write them."""

from __future__ import annotations

import pytest

from reading.script.prosody import ProsodyUnusable, gain_of, rate_of


@pytest.mark.parametrize(
    ("value", "rate"),
    [("80%", 0.8), ("0.8", 0.8), (".5", 0.5), ("slow", 0.8), ("X-FAST", 1.6), ("default", 1.0), ("+25%", 1.5),
     ("-50%", 0.6), ("-0.5", 0.6), (" 110% ", 1.1)],
)  # fmt: skip
def test_a_rate_is_of_the_voice_or_with_a_sign_of_what_is_around(value: str, rate: float) -> None:
    assert rate_of(value, around=1.2) == rate


@pytest.mark.parametrize(
    ("value", "gain_db"),
    [("-6dB", -9.0), ("+2.5db", -0.5), ("6dB", 6.0), ("50", -6.02), ("100", 0.0), ("medium", 0.0), ("x-loud", 8.0),
     ("+100%", 3.02), ("-50.00%", -9.02), ("+0dB", -3.0)],
)  # fmt: skip
def test_a_volume_likewise(value: str, gain_db: float) -> None:
    assert gain_of(value, around=-3.0) == gain_db


@pytest.mark.parametrize("value", ["", "fast!", "1e9", "--5%", "1" * 40, "nan", "8 0%", "٨%"])
def test_what_says_nothing_is_named(value: str) -> None:
    for read in (rate_of, gain_of):
        with pytest.raises(ProsodyUnusable, match="write") as refused:
            read(value, 1.0)
        assert refused.value.nearest is None


@pytest.mark.parametrize(("value", "rate", "gain_db"), [("400%", 2.0, 12.0), ("0", 0.5, -40.0), ("-100%", 0.5, -40.0)])
def test_what_is_too_much_has_a_nearest(value: str, rate: float, gain_db: float) -> None:
    with pytest.raises(ProsodyUnusable, match="between half and twice") as refused:
        rate_of(value, 1.0)
    assert refused.value.nearest == rate
    with pytest.raises(ProsodyUnusable, match="between -40 and") as refused:
        gain_of(value, 0.0)
    assert refused.value.nearest == gain_db
