"""Processes that answer for each other what they measured, with the real library and real processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from pathlib import Path
from storage.runtime.observability.shared_metrics import share_metrics
share_metrics(Path(sys.argv[1]), int(sys.argv[2]))
from storage.runtime.observability.metrics import PROCESS_INFO, REDIS_CALL, TICKETS_UNSENT, collect
from prometheus_client import generate_latest
from prometheus_client.registry import Collector
class All(Collector):
    collect = staticmethod(collect)
PROCESS_INFO.labels("api", "here", "1").set(1)
TICKETS_UNSENT.inc(int(sys.argv[3]))
REDIS_CALL.labels("claim").observe(0.002)
print(generate_latest(All()).decode())
"""
INFO = 'rhapsode_process_info{name="here",role="api",version="1"}'
TICKETS = "rhapsode_tickets_unsent_total"
CALLS = 'rhapsode_redis_call_duration_seconds_count{script="claim"}'


def scraped(folder: Path, number: int, tickets: int) -> dict[str, float]:
    command = [sys.executable, "-c", PROGRAM, str(folder), str(number), str(tickets)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    samples = (line.rpartition(" ") for line in said.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in samples}


def test_any_of_them_answers_for_all_and_a_restart_counts_on(tmp_path: Path) -> None:
    first = scraped(tmp_path, 0, 5)
    both = scraped(tmp_path, 1, 7)
    again = scraped(tmp_path, 0, 1)

    assert (first[TICKETS], both[TICKETS], again[TICKETS]) == (5, 12, 13)
    assert (first[CALLS], both[CALLS], again[CALLS]) == (1, 2, 3)
    # A gauge is of who lives: what the first one left went with its successor's start.
    assert (first[INFO], both[INFO], again[INFO]) == (1, 2, 2)
    assert {path.name.rpartition("_")[2] for path in tmp_path.iterdir()} == {"0.db", "1.db"}
