"""What `--quick` measures, by the server's speed."""

from __future__ import annotations

import pytest

from rhapsode.bench.server.orders import TextLevel
from rhapsode.bench.server.plan import quick_levels, quick_rate
from rhapsode.bench.server.run import check_speaks
from rhapsode.bench.statistics import LEAST_VALUES_FOR_P95
from tests.rhapsode.bench.server.speech_servers import Manner, speech_server
from tests.rhapsode.bench.server.test_run import plan

WINDOW_S = 18.0


@pytest.mark.parametrize(
    ("char_s", "levels", "rate"),
    [
        (0.0, "short,medium,long", 4.0),
        (0.003, "short,medium,long", 1.0),
        (0.009, "short,medium", 1.0),
        (0.03, "short", 1.0),
        (0.3, "short", 0.5),
    ],
)
def test_a_slower_server_gets_shorter_texts_and_a_lower_rate(char_s: float, levels: str, rate: float) -> None:
    found = quick_levels(char_s, WINDOW_S)

    assert found == tuple(map(TextLevel, levels.split(",")))
    assert quick_rate(char_s, found) == rate


def test_one_stream_of_a_fast_server_says_enough_for_a_p95() -> None:
    chars = {TextLevel.SHORT: 25.0, TextLevel.MEDIUM: 125.0, TextLevel.LONG: 400.5}
    for char_s in (0.0001, 0.001, 0.004, 0.008, 0.02):
        levels = quick_levels(char_s, WINDOW_S)
        text_s = char_s * sum(chars[level] for level in levels) / len(levels)
        assert WINDOW_S / text_s >= LEAST_VALUES_FOR_P95


def test_the_speed_is_of_the_whole_speech_and_another_text_is_asked_for() -> None:
    manner = Manner(pause_s=0.05)
    with speech_server("nari", manner) as url:
        speeds = [check_speaks(plan(url), number) for number in (0, 1)]

    texts = [str(body["input"]) for body in manner.heard]
    assert len(set(texts)) == 2
    assert all(speed * len(text) >= 6 * 0.05 for speed, text in zip(speeds, texts, strict=True))
