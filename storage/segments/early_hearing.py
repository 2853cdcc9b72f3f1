"""Whose first segment may be heard while it is spoken, before anything has checked it. Pure."""

from __future__ import annotations

from rhapsode.contract.jobs.quality import Gate, OnExhausted, Quality

_DELIVERED_ANYWAY = (OnExhausted.KEEP_BEST, OnExhausted.KEEP_BEST_OR_GAP)


def is_heard_early(quality: Quality) -> bool:
    """A job that wants its speech read back, or rather none than what did not pass, is heard after its checks alone."""
    match quality.gate:
        case Gate.OFF:
            return True
        case Gate.BASIC:
            return quality.on_exhausted in _DELIVERED_ANYWAY
        case Gate.ASR:
            return False
