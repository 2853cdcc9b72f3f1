"""From a stored input to what is spoken of it. Pure: bytes in, a draft or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType

from reading.drafting.draft import Draft, draft_script
from reading.drafting.unplannable import Unplannable
from reading.spelling.job_spelling import DictionaryDamaged
from storage.narration.spec import NarrationSpec
from worker.errors import PermanentItemError, unusable
from worker.planning.script_reading import read_script


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """data: the job's input as it is stored. dictionaries: the spec's, in their order."""

    spec: NarrationSpec
    data: bytes
    dictionaries: tuple[bytes, ...] = ()


def draft_plan(request: DraftRequest) -> Draft:
    """Raises `PermanentItemError` for an input of which no plan can be made, also where the fault is ours."""
    try:
        return _drafted(request)
    except (PermanentItemError, MemoryError, RecursionError):
        raise
    except Exception as error:  # whatever it is, another attempt would end so too
        raise unusable("internal", f"a fault of this server at {_place(error.__traceback__)}") from error


def _place(traceback: TracebackType | None) -> str:
    """The last line of ours; no words of the input are in it."""
    place = "an unknown place"
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__"))
        place = f"{module}:{traceback.tb_lineno}" if module.startswith(("reading.", "worker.")) else place
        traceback = traceback.tb_next
    return place


def _drafted(request: DraftRequest) -> Draft:
    script = read_script(request.data, request.spec)
    try:
        return draft_script(script, request.spec, request.dictionaries)
    except Unplannable as error:
        raise unusable(error.code, error.detail) from error
    except DictionaryDamaged as error:
        raise unusable("internal", str(error)) from error
