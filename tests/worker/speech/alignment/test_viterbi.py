from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from worker.speech.alignment.viterbi import States, best_path


def every_way(frames: int, skipped: list[bool]) -> Iterator[list[int]]:
    """Each state once or more in order, but for those that may be left out."""

    def longer(way: list[int]) -> Iterator[list[int]]:
        last = way[-1]
        if len(way) == frames:
            if all(skipped[last + 1 :]):
                yield way
            return
        for state in range(last, min(last + 3, len(skipped))):
            if state < last + 2 or skipped[last + 1]:
                yield from longer([*way, state])

    for first in range(2 if skipped[0] else 1):
        yield from longer([first])


@pytest.mark.parametrize(
    "skipped", [[False], [True, False, True], [True, False, False, True, False, True], [False, False, True, False]]
)
def test_the_way_is_the_likeliest_of_all_there_are(skipped: list[bool]) -> None:
    rng = np.random.default_rng(3)
    for frames in (len(skipped), len(skipped) + 2):
        scores = rng.standard_normal((frames, 4)).astype(np.float32)
        columns = rng.integers(0, 4, len(skipped))

        path = best_path(scores, States(columns, np.array(skipped)))

        ways = list(every_way(frames, skipped))
        worth = [float(sum(scores[frame, columns[state]] for frame, state in enumerate(way))) for way in ways]
        assert path.tolist() in ways
        assert worth[ways.index(path.tolist())] == pytest.approx(max(worth), abs=1e-4)
