"""What is done to speech after the engine: `InProcessPostProcessor` does it here, `PostProcessorPool` elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from rhapsode.contract.jobs.quality import Gate
from storage.ids import TenantId
from storage.job_store.leases import WholeResult
from storage.objects.store import ArtifactStore
from storage.segments.file import SegmentHeader
from storage.segments.packs import PackPlace
from worker.engine.interface import Speech
from worker.speech.audio.segment_audio import SegmentAudio
from worker.speech.postprocessing.sentence_ends import SentencePauses
from worker.speech.quality.calibration.calibration_file import SpeechBounds
from worker.speech.quality.job_norms import JobNorms
from worker.speech.quality.verdict import JudgedUtterance, Verdict


@dataclass(frozen=True, slots=True)
class StoredSpeech:
    """num_bytes: what it takes in the store. sha256: of its file. num_samples: of the speech in it, its edges finished.

    place: in its pack, None for a separate object.
    """

    num_bytes: int
    sha256: str
    num_samples: int
    place: PackPlace | None = None


@dataclass(frozen=True, slots=True)
class SpeechToStore:
    """Speech that is to be finished and stored. pauses: between its sentences; None for those spoken."""

    header: SegmentHeader
    speech: Speech
    pauses: SentencePauses | None = None


PackPart = SpeechToStore | SegmentAudio
"""What is stored, alone or in a pack: speech, and segments that are finished already."""


Finish = Callable[[SpeechToStore], SegmentAudio]
"""What `PostProcessor.store` makes of speech before that is stored."""


Sequel = Callable[[Verdict, Speech, Finish, ArtifactStore], WholeResult]
"""What follows on speech that passed, done where it was judged, because it is large. Can be pickled.

Done again, it comes to the same. Raises `StoreUnavailable`.
"""


@dataclass(frozen=True, slots=True)
class JudgedSpeech:
    """made: by the sequel, of speech that passed; None of other speech."""

    verdict: Verdict
    made: WholeResult | None


class PostProcessor(Protocol):
    """Any thread may call; a call returns when it is done, or fails when there is no process to do it any more."""

    def judge(self, utterance: JudgedUtterance, gate: Gate, bounds: SpeechBounds, norms: JobNorms | None) -> Verdict:
        """What can be measured of the speech: see `measured_verdict`."""
        ...

    def judge_then(
        self, utterance: JudgedUtterance, gate: Gate, bounds: SpeechBounds, norms: JobNorms | None, sequel: Sequel
    ) -> JudgedSpeech:
        """As `judge`, and of speech that passes what follows. Raises what the sequel raises."""
        ...

    def store(self, key: str, part: PackPart) -> StoredSpeech:
        """Finish the speech's edges and store it as a segment, under its own key.

        Found there already, it has been stored by an earlier try whose answer got lost. Raises `StoreUnavailable`,
        and `ArtifactExists` if something else lies there.
        """
        ...

    def store_pack(self, tenant: TenantId, parts: Sequence[PackPart]) -> tuple[StoredSpeech, ...]:
        """Store segments of one job as one object, each finished as by `store`; returned in their order.

        All or none. Raises as `store` does, and what the finishing of any of them raises.
        """
        ...

    @property
    def num_processes(self) -> int:
        """Processes that run now; 0 where the worker does the work itself."""
        ...
