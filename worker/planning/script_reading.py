"""A job's stored input to a script."""

from __future__ import annotations

from storage.errors import ArtifactMissing
from storage.jobs.work_items import ClaimedItem
from storage.narration.script.dialogue import dialogue_script
from storage.narration.script.entries import EntryFormatError, decode_entries, entries_script
from storage.narration.script.script import Script
from storage.narration.script.ssml import SsmlError, parse_ssml
from storage.narration.sources import DocumentFormat, Source, SourceType
from storage.narration.spec import NarrationSpec
from storage.objects.store import ArtifactStore
from worker.errors import unusable
from worker.leases.keeper import HeldLease
from worker.leases.persistence import until_available
from worker.planning.documents.errors import DocumentError
from worker.planning.documents.reading import read_document


def read_script(item: ClaimedItem, held: HeldLease, artifacts: ArtifactStore) -> Script:
    """Raises `PermanentItemError` for an input that cannot be read."""
    data = until_available(lambda: _input(item.input_key, artifacts), held)
    try:
        return _script(data, item.narration, held)
    except DocumentError as error:
        raise unusable(error.code, error.detail) from error
    except (EntryFormatError, SsmlError, UnicodeDecodeError) as error:
        # The API has read it before it took the job.
        raise unusable("internal", "the job's input in the store is damaged") from error


def _script(data: bytes, spec: NarrationSpec, held: HeldLease) -> Script:
    match spec.source:
        case Source(type=SourceType.SSML):
            return parse_ssml(data.decode())
        case Source(type=SourceType.SEGMENTS):
            return entries_script(decode_entries(data))
        case Source(type=SourceType.DOCUMENT, format=DocumentFormat() as document_format):
            script = read_document(data, document_format, spec.source.include, held.check, images=spec.source.images)
            # A text file may be a play as well as a typed text may.
            return _dialogue(script.text, spec) if document_format is DocumentFormat.TEXT else script
        case _:
            return _dialogue(data.decode(), spec)


def _dialogue(text: str, spec: NarrationSpec) -> Script:
    return dialogue_script(text, [member.name for member in spec.speakers])


def _input(key: str, artifacts: ArtifactStore) -> bytes:
    try:
        return artifacts.get(key)
    except ArtifactMissing as error:
        raise unusable("internal", "the job's input is not in the store any more") from error
