"""Our own quantiles are numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from worker.speech.quality.quantiles import quantile


@pytest.mark.parametrize("count", [1, 2, 3, 10, 11, 750])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 0.995, 1.0])
def test_a_quantile_is_numpys(count: int, share: float) -> None:
    values = np.random.default_rng(count).normal(size=count)

    assert quantile(values, share) == pytest.approx(float(np.quantile(values, share)), abs=1e-12)
