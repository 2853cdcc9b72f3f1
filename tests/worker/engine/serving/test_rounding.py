"""Products on this CPU round each row alike in any number of rows, once the engine has asked for it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from worker.engine.serving.rounding import round_rows_alike

ROWS_ALONE_AND_TOGETHER = """
import sys
from worker.engine.serving.rounding import round_rows_alike
round_rows_alike()
import torch
torch.set_num_threads(int(sys.argv[1]))
generator = torch.Generator().manual_seed(0)
for width, height in ((256, 1280), (640, 256), (256, 2048)):
    weight, rows = (torch.randn(n, width, generator=generator) for n in (height, 48))
    together = torch.nn.functional.linear(rows, weight)
    for count in (4, 8, 12, 16, 24):
        for first in range(0, 48, count):
            few = torch.nn.functional.linear(rows[first : first + count], weight)
            assert torch.equal(few, together[first : first + count]), (width, height, count, first)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_row_is_the_same_alone_and_in_any_company(threads: int) -> None:
    """In a process of its own: the library decides at its first product."""
    environment = {name: value for name, value in os.environ.items() if name != "MKL_CBWR"}

    subprocess.run([sys.executable, "-c", ROWS_ALONE_AND_TOGETHER, str(threads)], env=environment, check=True)


def test_what_the_operator_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")

    round_rows_alike()

    assert os.environ["MKL_CBWR"] == "COMPATIBLE"
