"""How long, and in how many threads, a process waits for an object store on another machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoreTimeouts:
    """connect_s: for a connection, and for the first bytes sent over it to be taken. read_s: for the next bytes of an
    answer. tries: of one call, with about a second between them. places: calls at the same time; 0 for as many as the
    process has threads.
    """

    connect_s: float
    read_s: float
    tries: int
    places: int = 0


FOR_WORK = StoreTimeouts(connect_s=3, read_s=20, tries=4)
"""A worker's: making its result again takes longer than waiting."""

FOR_CHORES = StoreTimeouts(connect_s=2, read_s=8, tries=2)
"""The janitor's, who has other things to see to and comes again: 18 seconds at most."""

FOR_REQUESTS = StoreTimeouts(connect_s=2, read_s=8, tries=2, places=24)
"""The API's: a client waits. A call takes some milliseconds of a server that answers."""
