"""What becomes of a job whose only segment passed at its first attempt: it may end there, without an item of its own.

The dispatch of items knows how; a segment only knows when.
"""

from __future__ import annotations

from typing import Protocol

from storage.job_store.leases import WholeResult
from storage.jobs.tickets import Tickets
from worker.speech.postprocessing.interface import Sequel
from worker.synthesis.manners import Manner
from worker.synthesis.spoken_segment import SpokenSegment


class SegmentEnding(Protocol):
    def sequel(self, segment: SpokenSegment, manner: Manner, reuse_id: str) -> Sequel[WholeResult]:
        """What the post-processor does with speech of this manner: it stores the segment and makes the job's files.

        reuse_id: of the content, "" if no other job may have it.
        """
        ...

    def finish(self, made: WholeResult) -> Tickets:
        """The job has succeeded. Returns the tickets to send; raises as a commit does."""
        ...
