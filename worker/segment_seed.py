"""The seed of a segment's speech. Pure."""

from __future__ import annotations

import hashlib


def segment_seed(job_seed: int, text: str, occurrence: int = 0, take: int = 1, attempt: int = 1) -> int:
    """The upper 53 bits of sha256("rhapsode segment seed 2:<job seed>:<occurrence>:<take>:<attempt>:<text>").

    Fixed for all times and machines; 53 bits are exact in every JSON reader. It follows from what is said and not from
    where: a sentence that is put in between changes the sound of no other. text: as it is spoken. occurrence: how many
    segments before it say the same, so that a refrain is not the same recording again. take and attempt count from 1.
    """
    named = f"rhapsode segment seed 2:{job_seed}:{occurrence}:{take}:{attempt}:{text}"
    return int.from_bytes(hashlib.sha256(named.encode()).digest()[:8], "big") >> 11
