"""States behind the references of voices, kept on the device so that each reference is decoded once."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from worker.engine.interface import CodecFrames


@dataclass(slots=True, eq=False)
class WarmState:
    """slot: where it is. is_launched: the pass that leaves it there is launched, so later passes may begin
    from it. users: utterances that have yet to begin from it.
    """

    slot: int
    is_launched: bool = False
    users: int = 0


class WarmSlots:
    """Least recently asked for goes first, unless an utterance has yet to use it. Belongs to one thread."""

    def __init__(self, slots: Sequence[int]) -> None:
        self._free = list(slots)
        self._states: OrderedDict[bytes, WarmState] = OrderedDict()
        self.hits = self.misses = 0

    def enter(self, reference: CodecFrames) -> tuple[WarmState | None, bool]:
        """The state behind a reference, with one user more, and whether the caller has to bring it about.

        None while all slots are in use.
        """
        key = hashlib.sha256(reference.tobytes()).digest()
        known = self._states.get(key)
        if known is not None:
            self.hits += 1
            self._states.move_to_end(key)
            known.users += 1
            return known, False
        self.misses += 1
        slot = self._claim()
        if slot is None:
            return None, False
        self._states[key] = WarmState(slot, users=1)
        return self._states[key], True

    def _claim(self) -> int | None:
        if self._free:
            return self._free.pop()
        for key, state in self._states.items():
            if state.users == 0 and state.is_launched:
                del self._states[key]
                return state.slot
        return None
