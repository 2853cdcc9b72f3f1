"""A manifest of new voices: from an upload to a list that a job works off. All lines are checked before one is used."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from pydantic import JsonValue, ValidationError

from api.http.json_body import parse_json
from api.http.parsing import body_violations
from api.http.problems.problem import MAX_VIOLATIONS, FieldViolation, HttpProblem, invalid, invalid_field
from api.uploads.named import read_named_upload
from api.voices.consent import consent_of
from api.voices.names import built_in_speaker
from rhapsode.contract.base import RefText, RequestBody
from rhapsode.contract.voices.caches import MAX_BULK_VOICES, ManifestOrder
from rhapsode.contract.voices.modes import CacheMode
from rhapsode.contract.voices.names import name_key
from rhapsode.contract.voices.voices import Description, Language, Statement, VoiceName
from storage.ids import UPLOAD_ID, TenantId, UploadId, new_voice_id
from storage.objects.store import ArtifactStore
from storage.queue.model_registry import ModelCard
from storage.voices.plan import ListedRecording

POINTER = "/manifest"
MAX_MANIFEST_BYTES = 16 * 1024 * 1024

_Line = tuple[int, JsonValue]


class ManifestLine(RequestBody):
    """One new voice. An empty cell of a CSV file is as one that is not there."""

    name: VoiceName
    audio: str
    ref_text: RefText = ""
    consent: Statement | None = None
    language: Language = "auto"
    description: Description = ""


def listed_voices(
    artifacts: ArtifactStore,
    tenant: TenantId,
    order: ManifestOrder,
    card: ModelCard,
    cards: Sequence[ModelCard],
    mode: CacheMode | None,
) -> list[ListedRecording]:
    """Raises the `HttpProblem` that names the lines at fault, twenty at most."""
    data = read_named_upload(artifacts, tenant, order.upload_id, f"{POINTER}/upload_id", MAX_MANIFEST_BYTES)
    lines = _csv_lines(data) if order.format == "csv" else _json_lines(data)
    voices: list[ListedRecording] = []
    faults: list[FieldViolation] = []
    holders: dict[str, int] = {}
    for number, fields in lines:
        if len(voices) == MAX_BULK_VOICES:
            raise invalid_field(POINTER, "too_many", f"one job takes {MAX_BULK_VOICES:,} voices")
        try:
            line = ManifestLine.model_validate(fields)
            _check(line, number, holders, cards)
            voices.append(_listed(line, number, order, card, mode, tenant))
        except ValidationError as error:
            faults += [_at_line(number, fault) for fault in body_violations(error)]
        except HttpProblem as problem:
            faults += [_at_line(number, fault) for fault in problem.violations]
        if len(faults) >= MAX_VIOLATIONS:
            break
    if faults:
        raise invalid(faults)
    if not voices:
        raise invalid_field(POINTER, "missing", "the manifest lists no voice")
    return voices


def _check(line: ManifestLine, number: int, holders: dict[str, int], cards: Sequence[ModelCard]) -> None:
    """What a line may not say beside the others. `holders`: names so far, and where."""
    if not UPLOAD_ID.fullmatch(line.audio):
        raise invalid_field("/audio", "not_found", "must be the id of an upload, upl_...")
    if speaker := built_in_speaker(line.name, cards):
        raise invalid_field("/name", "taken", f"{speaker!r} is a built-in voice")
    first = holders.setdefault(name_key(line.name), number)
    if first != number:
        raise invalid_field("/name", "taken", f"line {first} has this name already")


def _listed(
    line: ManifestLine, number: int, order: ManifestOrder, card: ModelCard, mode: CacheMode | None, tenant: TenantId
) -> ListedRecording:
    return ListedRecording(
        voice=new_voice_id(),
        name=line.name,
        audio=UploadId(line.audio),
        line=number,
        model=card.name,
        mode=_mode(line, card, mode),
        consent=consent_of(line.consent or order.consent, tenant),
        ref_text=line.ref_text.strip(),
        language=line.language,
        description=line.description,
    )


def _mode(line: ManifestLine, card: ModelCard, wanted: CacheMode | None) -> CacheMode:
    """The mode asked for, or the fullest there is a text for. Raises a `HttpProblem` for one that cannot be."""
    if wanted is not None and wanted not in card.voice_modes:
        raise invalid_field("/mode", "not_supported", f"{card.name} speaks in {', '.join(card.voice_modes)} mode only")
    if CacheMode.IN_CONTEXT in card.voice_modes and line.ref_text.strip() and wanted is not CacheMode.X_VECTOR:
        return CacheMode.IN_CONTEXT
    if wanted is CacheMode.IN_CONTEXT or CacheMode.X_VECTOR not in card.voice_modes:
        raise invalid_field("/ref_text", "missing", f"{card.name} needs to know what the recording says")
    return CacheMode.X_VECTOR


def _json_lines(data: bytes) -> Iterator[_Line]:
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, parse_json(line)
        except HttpProblem as problem:
            raise invalid_field(POINTER, "malformed", f"line {number}: {problem.detail}") from problem


def _csv_lines(data: bytes) -> Iterator[_Line]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid_field(POINTER, "malformed", f"the manifest is not UTF-8: byte {error.start}") from error
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, restkey="more columns than the header has")
    try:
        for row in reader:
            yield reader.line_num, {name: value for name, value in row.items() if value}
    except csv.Error as error:
        raise invalid_field(POINTER, "malformed", f"line {reader.line_num}: {error}") from error


def _at_line(number: int, fault: FieldViolation) -> FieldViolation:
    field = (fault.pointer or "/").removeprefix("/")
    return FieldViolation(fault.code, f"line {number}: {f'{field}: ' if field else ''}{fault.detail}", POINTER)
