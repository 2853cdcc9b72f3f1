"""How late the event loop is with what is due, for its own work: what admission goes by, as listeners hear gaps then.

A full loop serves each connection once in a turn, and more requests make longer turns. Without a limit, thousands of
clients would delay each other.
"""

from __future__ import annotations

import math

SMOOTHING_S = 2.0

MOST_WEIGHED_S = 0.25
"""A late turn counts for no longer. One pause of a second or two, as when modules are first loaded, rejects no caller.
A pause of many seconds does, and so do successive late turns.
"""

CALM_AGAIN = 0.5
"""Of the bound. Those who were taken last still bring their load when the loop is not late any more."""

OWN_SHARE = 0.2
"""Of a core, that the loop itself uses. Below it the loop is late because others keep the machine from it, or the lock
of the interpreter, and would not be on time with fewer callers.
"""


class Lateness:
    """most_s: beyond it, on average, the loop is late until that is half of it. Read from any thread."""

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self._own_share = 0.0
        self.mean_s = 0.0
        self.is_late = False

    def note(self, late_s: float, passed_s: float, worked_s: float) -> None:
        """late_s: of what was due last. passed_s: since the call before; worked_s: of it, CPU time of the loop."""
        self.mean_s += (max(0.0, late_s) - self.mean_s) * weight(min(passed_s, MOST_WEIGHED_S))
        self._own_share += (worked_s / passed_s - self._own_share) * weight(passed_s)
        bound_s = self._most_s * CALM_AGAIN if self.is_late else self._most_s
        self.is_late = self.mean_s > bound_s and self._own_share > OWN_SHARE


def weight(passed_s: float) -> float:
    """Of what was seen last, against the mean of before."""
    return 1 - math.exp(-passed_s / SMOOTHING_S)
