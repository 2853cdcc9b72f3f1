"""A draft as an item of work asks for it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType

from reading.drafting.draft import Draft
from reading.drafting.inputs import draft_input
from reading.drafting.unplannable import Unplannable
from storage.narration.spec import NarrationSpec
from worker.errors import unusable


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """data: the job's input as it is stored. dictionaries: the spec's, in their order.

    lines: speakers of quotations, as stored; empty for none.
    """

    spec: NarrationSpec
    data: bytes
    dictionaries: tuple[bytes, ...] = ()
    lines: bytes = b""


def draft_plan(request: DraftRequest) -> Draft:
    """Raises `PermanentItemError` for an input of which no plan can be made, also where the fault is ours."""
    try:
        return draft_input(request.data, request.spec, request.dictionaries, request.lines)
    except Unplannable as error:
        raise unusable(error.code, error.detail) from error
    except (MemoryError, RecursionError):
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
