"""What is asked of a post-processor process, and its answers."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass

from rhapsode.contract.jobs import quality
from storage.segments import file, packs
from worker.engine import interface as engine
from worker.process.children.release import release_of
from worker.speech.postprocessing import in_process, interface, sentence_ends
from worker.speech.postprocessing.interface import PostProcessor
from worker.speech.quality import job_norms, verdict
from worker.speech.quality.calibration import calibration_file
from worker.speech.quality.sound import timbre


@dataclass(frozen=True, slots=True)
class Call:
    """A method of `InProcessPostProcessor`, and its arguments."""

    method: Callable[..., object]
    arguments: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Raised:
    """The call's own error, to be raised at its caller."""

    error: Exception


RELEASE = release_of(
    quality,
    file,
    packs,
    engine,
    in_process,
    interface,
    sentence_ends,
    calibration_file,
    job_norms,
    timbre,
    verdict,
    sys.modules[__name__],
)
"""A post-processor's greeting."""


def answer(call: Call, postprocessor: PostProcessor) -> object:
    """Carry the call out. Never raises an `Exception`."""
    try:
        return call.method(postprocessor, *call.arguments)
    except Exception as error:  # noqa: BLE001  (whatever it is, the caller is told)
        return Raised(_portable(error))


def _portable(error: Exception) -> Exception:
    """The error, or its words if it is of a kind that does not survive the journey."""
    try:
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301  (made one channel earlier)
    except Exception:  # noqa: BLE001  (an error of a library may do anything when it is copied)
        return RuntimeError(f"{type(error).__name__}: {error}")
    return copy if type(copy) is type(error) and str(copy) == str(error) else RuntimeError(f"{error!r}")
