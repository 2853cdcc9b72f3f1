"""Pronunciation dictionaries: create, add versions, read, list, delete; as JSON or as a PLS file."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import TypeAdapter, ValidationError
from ulid import ULID

from api.access.idempotent_route import IdempotentRoute
from api.dependencies import Services, Tenant, id_like
from api.http.bodies import body
from api.http.cursors import PageQuery, decode_cursor, encode_cursor
from api.http.parsing import body_violations, parse_body
from api.http.problems.problem import FieldViolation, HttpProblem, invalid, problem
from api.http.times import moment
from api.services.container import ApiServices
from reading.spelling.rules import PronunciationRule, decode_rules, encode_rules
from rhapsode.contract.base import Name
from rhapsode.contract.pronunciations import (
    MAX_RULES,
    Dictionary,
    DictionaryList,
    DictionaryOrder,
    RuleAnswer,
    Version,
    VersionOrder,
    VersionRules,
)
from storage.errors import ArtifactMissing, DictionaryNotFound, QuotaExceeded
from storage.ids import DICTIONARY_ID, DictionaryId, TenantId, new_dictionary_id
from storage.objects import keys
from storage.pronunciations.dictionaries import DictionaryVersion
from storage.pronunciations.pls import MEDIA_TYPE, PlsError, parse_pls, write_pls
from storage.pronunciations.store import DictionaryRecord, NewVersion, VersionRecord

router = APIRouter(
    prefix="/v1/pronunciation-dictionaries", tags=["pronunciation dictionaries"], route_class=IdempotentRoute
)

_NAME: TypeAdapter[str] = TypeAdapter(Name)


@dataclass(frozen=True, slots=True)
class _Body:
    """What was sent, in whichever of the two forms."""

    content: bytes
    is_pls: bool


async def _body(request: Request, tenant: Tenant) -> _Body:
    """As sent, for a caller who may send it."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in ("application/json", MEDIA_TYPE):
        raise problem("unsupported_media", f"the body must be application/json or {MEDIA_TYPE}")
    return _Body(await request.body(), is_pls=media_type == MEDIA_TYPE)


SentRules = Annotated[_Body, Depends(_body)]

KnownDictionaryId = Annotated[DictionaryId, id_like(DICTIONARY_ID, "pronunciation dictionary")]


def _either(model: type[VersionOrder]) -> dict[str, object]:
    return body({"application/json": model, MEDIA_TYPE: {"type": "string"}})


@router.post("", status_code=201, response_model=Dictionary, openapi_extra=_either(DictionaryOrder))
def post_dictionary(
    tenant: Tenant,
    services: Services,
    response: Response,
    body: SentRules,
    name: Annotated[str | None, Query(max_length=200, description="of a dictionary that is sent as PLS")] = None,
) -> Dictionary:
    """A dictionary with its first version. A PLS file is sent as it is, with `name` in the address."""
    if body.is_pls:
        name, order = _checked_name(name), _from_pls(body.content)
    else:
        order = parse_body(DictionaryOrder, body.content)
        name = order.name
    dictionary = new_dictionary_id()
    version = _store(services, tenant, dictionary, order)
    with _discarding(services, tenant, dictionary, version):
        record, _ = services.intake.pronunciations.add(tenant, dictionary, version, name)
    response.headers["Location"] = f"{router.prefix}/{dictionary}"
    return _shown(record)


@router.get("", response_model=DictionaryList)
def list_dictionaries(tenant: Tenant, services: Services, parameters: Annotated[PageQuery, Query()]) -> DictionaryList:
    """Oldest first."""
    after = decode_cursor(parameters.cursor, DICTIONARY_ID) or ""
    found = services.intake.pronunciations.list(tenant, after, parameters.limit + 1)
    page = found[: parameters.limit]
    has_more = len(found) > parameters.limit
    cursor = encode_cursor(page[-1].id) if has_more else None
    return DictionaryList(data=tuple(_shown(record) for record in page), next_cursor=cursor, has_more=has_more)


@router.get("/{dictionary_id}", response_model=Dictionary)
def get_dictionary(tenant: Tenant, services: Services, dictionary_id: KnownDictionaryId) -> Dictionary:
    return _shown(services.intake.pronunciations.get(tenant, dictionary_id))


@router.delete("/{dictionary_id}", status_code=204)
def delete_dictionary(tenant: Tenant, services: Services, dictionary_id: KnownDictionaryId) -> None:
    """Forget it with all versions; jobs keep what they took from it. Repeating it is no error."""
    services.intake.pronunciations.delete(tenant, dictionary_id)
    services.artifacts.delete_prefix(keys.pronunciations_prefix(tenant, dictionary_id))


@router.post("/{dictionary_id}/versions", status_code=201, response_model=Version, openapi_extra=_either(VersionOrder))
def post_version(
    tenant: Tenant, services: Services, dictionary_id: KnownDictionaryId, body: SentRules, response: Response
) -> Version:
    """A further version with all of its rules. Versions never change."""
    services.intake.pronunciations.get(tenant, dictionary_id)
    order = _from_pls(body.content) if body.is_pls else parse_body(VersionOrder, body.content)
    version = _store(services, tenant, dictionary_id, order)
    with _discarding(services, tenant, dictionary_id, version):
        record, number = services.intake.pronunciations.add(tenant, dictionary_id, version)
    response.headers["Location"] = f"{router.prefix}/{dictionary_id}/versions/{number}"
    return _shown_version(record, _known(record, number))


@router.get(
    "/{dictionary_id}/versions/{version}",
    response_model=VersionRules,
    responses={200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}},
)
def get_version(
    tenant: Tenant,
    services: Services,
    dictionary_id: KnownDictionaryId,
    version: int,
    accept: Annotated[str, Header(description=f"{MEDIA_TYPE} for a PLS file")] = "",
) -> Response:
    """One version with its rules."""
    record = services.intake.pronunciations.get(tenant, dictionary_id)
    found = _known(record, version)
    rules = _rules(services, tenant, dictionary_id, found)
    if MEDIA_TYPE in accept.lower():
        return Response(write_pls(rules, found.language), media_type=MEDIA_TYPE)
    answer = VersionRules(
        **_shown_version(record, found).model_dump(),
        rules=tuple(RuleAnswer(grapheme=r.grapheme, alias=r.alias, case_sensitive=r.case_sensitive) for r in rules),
    )
    return Response(answer.model_dump_json(), media_type="application/json")


def _store(services: ApiServices, tenant: TenantId, dictionary: DictionaryId, order: VersionOrder) -> NewVersion:
    """The rules first: a version that is known can be read."""
    _refuse_repeats(order)
    rules = [PronunciationRule(rule.grapheme, rule.alias, rule.case_sensitive) for rule in order.rules]
    data = encode_rules(rules)
    upload = str(ULID()).lower()
    services.artifacts.put(keys.pronunciations(tenant, dictionary, upload), data)
    return NewVersion(upload, len(rules), len(data), hashlib.sha256(data).hexdigest(), order.language)


@contextmanager
def _discarding(
    services: ApiServices, tenant: TenantId, dictionary: DictionaryId, version: NewVersion
) -> Generator[None]:
    """Delete the rules again if they are refused."""
    try:
        yield
    except (DictionaryNotFound, QuotaExceeded):
        services.artifacts.delete(keys.pronunciations(tenant, dictionary, version.upload))
        raise


def _refuse_repeats(order: VersionOrder) -> None:
    """Two rules for one spelling would leave open which of them counts."""
    seen: set[tuple[str, bool]] = set()
    for index, rule in enumerate(order.rules):
        key = (rule.grapheme if rule.case_sensitive else rule.grapheme.casefold(), rule.case_sensitive)
        if key in seen:
            detail = f"there is another rule for {rule.grapheme!r} before this one"
            raise invalid([FieldViolation("repeated", detail, pointer=f"/rules/{index}/grapheme")])
        seen.add(key)


def _from_pls(content: bytes) -> VersionOrder:
    try:
        lexicon = parse_pls(content)
    except PlsError as error:
        raise invalid([FieldViolation("invalid_pls", str(error))]) from error
    if not 0 < len(lexicon.rules) <= MAX_RULES:
        detail = f"the lexicon has {len(lexicon.rules):,} rules; 1 to {MAX_RULES:,} are taken"
        raise invalid([FieldViolation("out_of_range", detail)])
    rules = [{"grapheme": rule.grapheme, "alias": rule.alias} for rule in lexicon.rules]
    try:
        return VersionOrder.model_validate({"rules": rules, "language": lexicon.language})
    except ValidationError as error:
        raise invalid(body_violations(error)) from None


def _checked_name(name: str | None) -> str:
    if name is None:
        raise _bad_name("missing", "a PLS file says nothing of a name; give one as ?name=")
    try:
        return _NAME.validate_python(name)
    except ValidationError as error:
        raise _bad_name("wrong_type", error.errors()[0]["msg"]) from None


def _bad_name(code: str, detail: str) -> HttpProblem:
    return invalid([FieldViolation(code, detail, parameter="name")])


def _rules(
    services: ApiServices, tenant: TenantId, dictionary: DictionaryId, version: VersionRecord
) -> tuple[PronunciationRule, ...]:
    try:
        return decode_rules(services.artifacts.get(keys.pronunciations(tenant, dictionary, version.upload)))
    except ArtifactMissing:
        # It was deleted between the look at its record and this one.
        raise problem("not_found", f"there is no pronunciation dictionary {dictionary}") from None


def _known(record: DictionaryRecord, number: int) -> VersionRecord:
    version = record.version(number)
    if version is None:
        raise problem("not_found", f"{record.id} has no version {number}; it has 1 to {len(record.versions)}")
    return version


def _shown(record: DictionaryRecord) -> Dictionary:
    return Dictionary(
        id=record.id,
        name=record.name,
        created_at=moment(record.created_at_ms),
        versions=tuple(_shown_version(record, version) for version in record.versions),
    )


def _shown_version(record: DictionaryRecord, version: VersionRecord) -> Version:
    reference = str(DictionaryVersion(record.id, version.version))
    return Version(reference=reference, created_at=moment(version.created_at_ms), **asdict(version))
