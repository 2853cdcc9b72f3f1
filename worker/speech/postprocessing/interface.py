"""What is done to speech after the engine: `InProcessPostProcessor` does it here, `PostProcessorPool` elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from rhapsode.contract.jobs.quality import Gate
from storage.ids import TenantId
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
"""What a pack is made of: speech, and segments that are finished already."""


@dataclass(frozen=True, slots=True)
class PostProcessorReport:
    """processes: that run now, none where the worker does the work itself. deaths: since the start."""

    processes: int
    deaths: int


class Finish(Protocol):
    """What `PostProcessor.store` makes of speech before that is stored."""

    def __call__(self, header: SegmentHeader, speech: Speech, pauses: SentencePauses | None) -> SegmentAudio: ...


class SequelResult(Protocol):
    """What a sequel made. stored_bytes: of all objects that it stored."""

    @property
    def stored_bytes(self) -> int: ...


M = TypeVar("M", bound=SequelResult)
M_co = TypeVar("M_co", bound=SequelResult, covariant=True)


class Sequel(Protocol[M_co]):
    """What follows on speech that passed, done where it was judged, because it is large. Can be pickled."""

    def __call__(self, verdict: Verdict, speech: Speech, finish: Finish, artifacts: ArtifactStore) -> M_co:
        """Done again, it comes to the same. Raises `StoreUnavailable`."""
        ...


@dataclass(frozen=True, slots=True)
class JudgedSpeech(Generic[M_co]):
    """made: by the sequel, of speech that passed; None of other speech."""

    verdict: Verdict
    made: M_co | None


class PostProcessor(Protocol):
    """Any thread may call; a call returns when it is done, or fails when there is no process to do it any more."""

    def judge(self, utterance: JudgedUtterance, gate: Gate, bounds: SpeechBounds, norms: JobNorms | None) -> Verdict:
        """What can be measured of the speech: see `measured_verdict`."""
        ...

    def judge_then(
        self, utterance: JudgedUtterance, gate: Gate, bounds: SpeechBounds, norms: JobNorms | None, sequel: Sequel[M]
    ) -> JudgedSpeech[M]:
        """As `judge`, and of speech that passes what follows. Raises what the sequel raises."""
        ...

    def store(
        self, key: str, header: SegmentHeader, speech: Speech, pauses: SentencePauses | None = None
    ) -> StoredSpeech:
        """Finish the speech's edges and store it as a segment, under its own key. pauses: None for those spoken.

        Found there already, it has been stored by an earlier try whose answer got lost. Raises `StoreUnavailable`,
        and `ArtifactExists` if something else lies there.
        """
        ...

    def store_pack(self, tenant: TenantId, parts: Sequence[PackPart]) -> tuple[StoredSpeech, ...]:
        """Store segments of one job as one object, each finished as by `store`; returned in their order.

        All or none. Raises as `store` does, and what the finishing of any of them raises.
        """
        ...

    def report(self) -> PostProcessorReport: ...
