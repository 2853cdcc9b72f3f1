"""The plan of a whole job, which comes with its submission. Pure: what makes one is `storage.text.whole`."""

from __future__ import annotations

from dataclasses import dataclass

from storage.jobs.warnings import JobWarning

WHOLE_ITEM = "0"
"""Its one item is its one segment: whatever comes between, the job goes on as any other with a plan does."""


@dataclass(frozen=True, slots=True)
class WholePlan:
    """document: the plan, as it would lie in the store. speech_ms: expected. first_words: of the text. warnings: what
    the owner should know of it."""

    document: str
    speech_ms: int
    first_words: str
    warnings: tuple[JobWarning, ...] = ()
