"""Instruments that several processes of one address have together, so that each of them answers a scrape for all.

A scrape of an address that several processes listen on meets one of them, and another the next time: counters would
jump. So each keeps its values in files of a folder, through prometheus_client, and any of them adds up what is there.
The files belong to a place, not to a process: one that is started again counts on where its predecessor was killed.
"""

from __future__ import annotations

import os
from pathlib import Path

from prometheus_client import values
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The library's own, from which it makes the names of its files."""

GAUGE_MODE = "livesum"
"""Gauges count what is open or under way: the sum over those that live."""


def share_metrics(folder: Path, number: int) -> None:
    """Call before any instrument is made. number: this process's place, which no other has at the same time."""
    mark_process_dead(number, str(folder))
    os.environ[FOLDER_VARIABLE] = str(folder)
    values.ValueClass = values.MultiProcessValue(lambda: number)


def shared_metrics() -> MultiProcessCollector | None:
    """What all of them measured; None in a process that shares nothing."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return None if folder is None else MultiProcessCollector(None, folder)
