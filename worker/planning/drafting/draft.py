"""From a stored input to what is spoken of it. Pure: bytes in, a draft or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType

from reading.dialogue.lines import LinesDamaged, decode_lines
from reading.documents.by_format import read_document
from reading.documents.errors import DocumentError
from reading.drafting.draft import Draft, draft_script, plain_text_script
from reading.drafting.unplannable import Unplannable
from reading.script.entries import EntryFormatError, decode_entries, entries_script
from reading.script.lenient_ssml import Abilities, lenient_script
from reading.script.script import Script
from reading.script.ssml import parse_ssml
from reading.script.ssml_document import SsmlError
from reading.spelling.job_spelling import DictionaryDamaged
from reading.spelling.say_as import Speller
from rhapsode.contract.jobs.input import DocumentFormat, Images, NarrationInput, Normalization, SourceType, SsmlMode
from storage.narration.spec import NarrationSpec
from worker.errors import PermanentItemError, unusable


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """data: the job's input as it is stored. dictionaries: the spec's, in their order.

    lines: who says a quotation, as the job keeps it; empty if nobody is named.
    """

    spec: NarrationSpec
    data: bytes
    dictionaries: tuple[bytes, ...] = ()
    lines: bytes = b""


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
        return draft_script(script, request.spec, request.dictionaries, decode_lines(request.lines))
    except Unplannable as error:
        raise unusable(error.code, error.detail) from error
    except (DictionaryDamaged, LinesDamaged) as error:
        raise unusable("internal", str(error)) from error


def read_script(data: bytes, spec: NarrationSpec) -> Script:
    """Raises `PermanentItemError` for an input that cannot be read."""
    try:
        return _script(data, spec)
    except DocumentError as error:
        raise unusable(error.code, error.detail) from error
    except (EntryFormatError, SsmlError, UnicodeDecodeError) as error:
        # The API has read it before it took the job.
        raise unusable("internal", "the job's input in the store is damaged") from error


def _script(data: bytes, spec: NarrationSpec) -> Script:
    given = spec.request.input
    match given:
        case NarrationInput(type=SourceType.SSML, ssml_mode=SsmlMode.LENIENT):
            return lenient_script(data.decode(), _abilities(spec))
        case NarrationInput(type=SourceType.SSML):
            return parse_ssml(data.decode())
        case NarrationInput(type=SourceType.SEGMENTS):
            return entries_script(decode_entries(data))
        case NarrationInput(type=SourceType.DOCUMENT, format=DocumentFormat() as document_format):
            return read_document(data, document_format, given.include, given.images or Images.SKIP, _cast(spec))
        case _:
            return plain_text_script(data.decode(), spec)


def _abilities(spec: NarrationSpec) -> Abilities:
    """say_as: a model that learned from words alone is given the names of letters."""
    names_letters = spec.request.normalization is Normalization.BASIC
    speller = Speller(spec.request.language, names_letters=names_letters)
    return Abilities(_cast(spec), [name.casefold() for name in spec.languages] or None, speller.say_as)


def _cast(spec: NarrationSpec) -> list[str]:
    return [member.name for member in spec.cast]
