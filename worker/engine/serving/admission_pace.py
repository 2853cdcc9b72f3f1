"""When requests join those that run: together, where a pass over prompts holds all others up. Pure: no clock."""

from __future__ import annotations

from worker.engine.profiles import AdmissionPolicy

# For every so many that run, one arrival is waited for before a pass over prompts holds them all up.
_RUNNING_PER_ARRIVAL = 16


class AdmissionPace:
    """Single-threaded: belongs to the engine's loop."""

    def __init__(self, policy: AdmissionPolicy) -> None:
        self._policy = policy
        self._steps_waited = 0

    def is_time(self, possible: int, num_running: int, *, is_awaited: bool) -> bool:
        """Called once per step. possible: how many could join now. is_awaited: for one of them somebody waits."""
        if not possible:
            self._steps_waited = 0
            return False
        self._steps_waited += 1
        company = min(self._policy.least_together, num_running // _RUNNING_PER_ARRIVAL)
        if is_awaited or possible >= company or self._steps_waited > self._policy.patience_steps:
            self._steps_waited = 0
            return True
        return False
