"""From a stored input of any kind to what is spoken of it. Pure: bytes in, a draft or the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from reading.documents.by_format import read_document
from reading.documents.errors import DocumentError
from reading.drafting.draft import Draft, draft_script, plain_text_script
from reading.drafting.lines import LinesDamaged, decode_lines
from reading.drafting.spec import ReadingSpec
from reading.drafting.unplannable import Unplannable
from reading.script.entries import EntryFormatError, decode_entries, entries_script
from reading.script.lenient_ssml import Abilities, lenient_script
from reading.script.script import Script
from reading.script.ssml import parse_ssml
from reading.script.ssml_document import SsmlError
from reading.spelling.job_spelling import DictionaryDamaged
from reading.spelling.say_as import Speller
from rhapsode.contract.jobs.input import DocumentFormat, Images, NarrationInput, Normalization, SourceType, SsmlMode


def draft_input(data: bytes, spec: ReadingSpec, dictionaries: Sequence[bytes] = (), lines: bytes = b"") -> Draft:
    """data: as it is stored. dictionaries: the spec's, in their order. lines: speakers of quotations, as stored.

    Raises `Unplannable`.
    """
    try:
        return draft_script(read_input(data, spec), spec, dictionaries, decode_lines(lines))
    except (DictionaryDamaged, LinesDamaged) as error:
        raise Unplannable("internal", str(error)) from error


def read_input(data: bytes, spec: ReadingSpec) -> Script:
    """Raises `Unplannable` for an input that cannot be read."""
    try:
        return _script(data, spec)
    except DocumentError as error:
        raise Unplannable(error.code, error.detail) from error
    except (EntryFormatError, SsmlError, UnicodeDecodeError) as error:
        # The API has read it before it took the job.
        raise Unplannable("internal", "the job's input in the store is damaged") from error


def _script(data: bytes, spec: ReadingSpec) -> Script:
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


def _abilities(spec: ReadingSpec) -> Abilities:
    """say_as: a model that learned from words alone is given the names of letters."""
    names_letters = spec.request.normalization is Normalization.BASIC
    speller = Speller(spec.request.language, names_letters=names_letters)
    return Abilities(_cast(spec), [name.casefold() for name in spec.languages] or None, speller.say_as)


def _cast(spec: ReadingSpec) -> list[str]:
    return [member.name for member in spec.cast]
