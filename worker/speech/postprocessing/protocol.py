"""What is asked of a post-processor process, and its answers."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rhapsode.contract.jobs import quality
from rhapsode.contract.jobs.quality import Gate
from storage.ids import TenantId
from storage.segments import file, packs
from storage.segments.file import SegmentHeader
from worker.engine import interface as engine
from worker.engine.interface import Speech
from worker.process.children.release import release_of
from worker.speech.postprocessing import interface, sentence_ends
from worker.speech.postprocessing.interface import (
    JudgedSpeech,
    PackPart,
    PostProcessor,
    Sequel,
    SequelResult,
    StoredSpeech,
)
from worker.speech.postprocessing.sentence_ends import SentencePauses
from worker.speech.quality import job_norms, verdict
from worker.speech.quality.calibration import calibration_file
from worker.speech.quality.calibration.calibration_file import SpeechBounds
from worker.speech.quality.job_norms import JobNorms
from worker.speech.quality.sound import timbre
from worker.speech.quality.verdict import JudgedUtterance, Verdict


@dataclass(frozen=True, slots=True)
class Judge:
    utterance: JudgedUtterance
    gate: Gate
    bounds: SpeechBounds
    norms: JobNorms | None


@dataclass(frozen=True, slots=True)
class JudgeThen:
    judge: Judge
    sequel: Sequel[SequelResult]


@dataclass(frozen=True, slots=True)
class Store:
    key: str
    header: SegmentHeader
    speech: Speech
    pauses: SentencePauses | None = None


@dataclass(frozen=True, slots=True)
class StorePack:
    tenant: TenantId
    parts: Sequence[PackPart]


Call = Judge | JudgeThen | Store | StorePack

Result = Verdict | JudgedSpeech[SequelResult] | StoredSpeech | tuple[StoredSpeech, ...]


@dataclass(frozen=True, slots=True)
class TaskDone:
    result: Result


@dataclass(frozen=True, slots=True)
class Raised:
    """The call's own error, to be raised at its caller."""

    error: Exception


Answer = TaskDone | Raised

RELEASE = release_of(
    quality,
    file,
    packs,
    engine,
    interface,
    sentence_ends,
    calibration_file,
    job_norms,
    timbre,
    verdict,
    sys.modules[__name__],
)
"""A post-processor's greeting."""


def answer(call: Call, postprocessor: PostProcessor) -> Answer:
    """Carry the call out. Never raises an `Exception`."""
    try:
        match call:
            case Judge(utterance, gate, bounds, norms):
                return TaskDone(postprocessor.judge(utterance, gate, bounds, norms))
            case JudgeThen(Judge(utterance, gate, bounds, norms), sequel):
                return TaskDone(postprocessor.judge_then(utterance, gate, bounds, norms, sequel))
            case Store(key, header, speech, pauses):
                return TaskDone(postprocessor.store(key, header, speech, pauses))
            case StorePack(tenant, parts):
                return TaskDone(postprocessor.store_pack(tenant, parts))
    except Exception as error:  # noqa: BLE001  (whatever it is, the caller is told)
        return Raised(_portable(error))


def _portable(error: Exception) -> Exception:
    """The error, or its words if it is of a kind that does not survive the journey."""
    try:
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301  (made one channel earlier)
    except Exception:  # noqa: BLE001  (an error of a library may do anything when it is copied)
        return RuntimeError(f"{type(error).__name__}: {error}")
    return copy if type(copy) is type(error) and str(copy) == str(error) else RuntimeError(f"{error!r}")
