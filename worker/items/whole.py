"""A whole job's item: its segment is spoken like any other, and where it passes at once, the job ends there.

Large data stays beside the post-processor. The speech goes there once, to be judged, stored and made into the job's
files. This process sends the one function that ends the job. Whatever else comes of the segment (another attempt, a
copy, a take that an edit asked for) continues as in any job, with its own assembly.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from reading.plan.plan import decode_plan
from storage.job_store.leases import WholeResult
from storage.jobs.tickets import Tickets
from storage.jobs.whole import WHOLE_ITEM, is_made_at_once
from storage.jobs.work_items import ClaimedItem
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.segments.edits import FIRST_TAKE, UNEDITED
from storage.segments.results import decode_segment_result, encode_report
from worker.engine.interface import Speech
from worker.services import SpeechServices
from worker.speech.audio.segment_audio import encode_segment
from worker.speech.postprocessing.interface import Finish, SpeechToStore, StoredSpeech
from worker.speech.quality.verdict import Verdict
from worker.synthesis.attempts import SegmentOutcome, SpokenAttempt
from worker.synthesis.manners import Manner
from worker.synthesis.segment_record import SpeechSource, segment_header, segment_report, sentence_pauses
from worker.synthesis.spoken_segment import SpokenSegment

logger = logging.getLogger(__name__)


def ending_of(item: ClaimedItem, services: SpeechServices) -> WholeEnding | None:
    """None for a segment of any other job, and for one whose job is not as it was submitted any more."""
    is_as_submitted = item.take == FIRST_TAKE and item.edit == UNEDITED and not item.recovered
    if not item.plan_document or not is_as_submitted or not is_made_at_once(item.narration.request.output):
        return None
    return WholeEnding(item, services)


@dataclass(frozen=True, slots=True)
class WholeEnding:
    """Implements `Ending`."""

    item: ClaimedItem
    services: SpeechServices

    def sequel(self, segment: SpokenSegment, manner: Manner, reuse_id: str) -> WholeSequel:
        info = self.services.engine.info
        return WholeSequel(self.item, segment, manner, SpeechSource(info.revision, info.config_sha256), reuse_id)

    def finish(self, made: WholeResult) -> Tickets:
        item, artifacts = self.item, self.services.worker.artifacts
        is_finished, tickets = self.services.worker.jobs.finish_whole(item.lease, made)
        audio_s = round(made.report.num_samples / made.report.sample_rate_hz, 3)
        if not is_finished:
            # As what makes files: loaded by the process that speaks only when there is something to delete.
            from worker.assembly.unused_files import delete_made

            logger.info("job changed meanwhile; its segment was taken", extra={"audio_s": audio_s})
            delete_made(item, artifacts)
            return tickets
        if item.attempt > 1 or item.suspicions:
            # Likewise: only when a run before this one left some.
            from worker.assembly.unused_files import delete_earlier

            delete_earlier(item, made.artifacts, artifacts)
        logger.info("job finished", extra={"segments": 1, "audio_s": audio_s})
        return tickets


@dataclass(frozen=True, slots=True)
class WholeSequel:
    """Implements `Sequel`."""

    item: ClaimedItem
    segment: SpokenSegment
    manner: Manner
    source: SpeechSource
    reuse_id: str

    def __call__(self, verdict: Verdict, speech: Speech, finish: Finish, artifacts: ArtifactStore) -> WholeResult:
        """Raises `StoreUnavailable` or `PermanentItemError`."""
        # What makes files is loaded where they are made: not by the process that speaks.
        from worker.assembly.whole import WholeFiles, assemble_whole

        item, segment = self.item, self.segment
        attempt = SpokenAttempt(self.manner, speech, verdict)
        outcome = SegmentOutcome(attempt, speech, (attempt,))
        header = segment_header(item, segment, outcome, self.source)
        audio = finish(SpeechToStore(header, speech, sentence_pauses(item.narration.request.pauses, segment)))
        lease = item.lease
        key = keys.segment(lease.tenant, lease.job, segment.index, lease.fence)
        files = WholeFiles()
        file = files.add(key, encode_segment(audio))
        stored = StoredSpeech(file.bytes, file.sha256, len(audio.pcm))
        report = segment_report(header, stored, segment, self.reuse_id, outcome)
        result = decode_segment_result(WHOLE_ITEM, f"D{lease.fence}:{encode_report(report)}")
        made = assemble_whole(item, decode_plan(item.plan_document.encode()), result, audio, files, artifacts)
        files.store(artifacts)
        return WholeResult(report, tuple(made.artifacts), tuple(made.warnings), made.spoken_by)
