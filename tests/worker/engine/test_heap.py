"""What the garbage collector walks over in a process that serves."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from worker.engine.heap import PauseMeter

AFTER_START = """
import gc
from worker.engine.heap import freeze
import worker.engine.native, worker.lifecycle.start
before = len(gc.get_objects())
freeze()
print(before, len(gc.get_objects()), gc.get_freeze_count())
"""


def test_what_is_loaded_at_the_start_is_not_walked_over_again() -> None:
    told = subprocess.run([sys.executable, "-c", AFTER_START], capture_output=True, text=True, check=True, timeout=120)
    before, after, frozen = map(int, told.stdout.split())

    assert before > 50_000
    assert after < before / 100
    assert frozen > before * 0.9


def test_the_longest_pause_is_told_and_a_closed_meter_notes_nothing() -> None:
    meter = PauseMeter()
    try:
        assert meter.longest_s == 0.0
        gc.collect()
        assert meter.longest_s > 0.0
    finally:
        meter.close()
    seen_s = meter.longest_s
    # A collection that takes longer than all before it.
    kept = [[] for _ in range(200_000)]
    gc.collect()
    assert meter.longest_s == seen_s
    assert kept


@pytest.mark.parametrize("start", ["api.server", "worker.janitor.sweeper", "worker.speech.postprocessing.process"])
def test_no_full_collection_runs_during_a_start(start: str) -> None:
    program = f'import gc, {start}; print(gc.get_stats()[2]["collections"])'
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)

    assert told.stdout.strip() == "0"
