"""Answers that are put together from those of all cells: lists, usage, quotas.

A tenant's own cells have to answer. Of another, which may hold something from earlier, the header `X-Cells-Missing`
says that it does not answer; a list goes on there if it is back before the others have ended.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import Response

from api.http.problems.problem import Violation, invalid
from api.operators.usage_routes import CSV, usage_table
from api.router.cells import Cell
from api.router.connections import CellDown
from api.router.lists import LISTINGS, BadCursor, CellPage, decode_places, merge_pages
from api.router.routing import Asked, Routing
from api.router.tenants import asking_headers
from api.router.usage import merged_quotas, merged_usage
from rhapsode.contract.operators.quotas import QuotaView
from rhapsode.contract.operators.usage import UsageReport

MISSING = "X-Cells-Missing"

DEFAULT_LIMIT = 20

_OK = 200


@dataclass(frozen=True, slots=True)
class Together:
    """What the cells that were asked have said, the homes' first."""

    asked: Mapping[str, Asked]
    homes: Sequence[str]
    missing: Sequence[str]

    @property
    def refusal(self) -> Response | None:
        """What a cell refuses, it refuses for all. Raises `CellDown` for a home that has not answered."""
        for name in self.homes:
            if name not in self.asked:
                raise CellDown(name)
        refused = next((each for each in self.asked.values() if each.status != _OK), None)
        if refused is None:
            return None
        kept = {b"content-type", b"retry-after", b"www-authenticate"}
        headers = {name.decode(): value.decode("latin-1") for name, value in refused.headers if name.lower() in kept}
        return Response(refused.body, refused.status, headers)

    def answer(self, body: str, media_type: str = "application/json") -> Response:
        headers = {MISSING: ", ".join(self.missing)} if self.missing else {}
        return Response(body, headers=headers, media_type=media_type)


async def merged_list(routing: Routing, request: Request, secret: bytes | None) -> Response:
    """A page of what all cells list. Raises `CellDown`, and a `Problem` for a cursor of no such list."""
    query = parse_qsl(request.url.query, keep_blank_values=True)
    given = dict(query)
    try:
        places = decode_places(given.get("cursor"))
    except BadCursor:
        raise invalid([Violation("invalid_cursor", "is not a cursor of this list", parameter="cursor")]) from None
    homes, others = await routing.ordered(request.scope)
    wanted = [cell for cell in (*homes, *others) if places.get(cell.name, "") is not None]
    kept = [pair for pair in query if pair[0] != "cursor"]
    targets = {cell.name: _target(request.url.path, kept, places.get(cell.name)) for cell in wanted}
    found = await _ask(routing, request, secret, wanted, targets, homes)
    if (refusal := found.refusal) is not None:
        return refusal
    documents = {name: json.loads(each.body) for name, each in found.asked.items()}
    pages = {name: CellPage(tuple(each["data"]), each.get("next_cursor")) for name, each in documents.items()}
    listing = LISTINGS[request.url.path]
    if given.get("order") == "asc":
        listing = replace(listing, newest_first=False)
    limit = int(given.get("limit", DEFAULT_LIMIT)) if listing.has_pages else None
    # A cell that was taken away meanwhile has no part any more.
    begun = {cell.name: places.get(cell.name, "") for cell in (*homes, *others)}
    merged = merge_pages(pages, begun, limit, listing)
    page: dict[str, object] = {"data": merged.data}
    if listing.has_pages:
        page |= {"next_cursor": merged.next_cursor, "has_more": merged.next_cursor is not None}
    return found.answer(json.dumps(page))


async def merged_report(routing: Routing, request: Request, secret: bytes | None) -> Response:
    """A tenant's usage in all cells. Raises `CellDown`."""
    query = parse_qsl(request.url.query, keep_blank_values=True)
    # As JSON from the cells, whatever was asked for: a table has no sum.
    as_json = [pair for pair in query if pair != ("format", "csv")]
    found, _ = await _ask_all(routing, request, secret, as_json)
    if (refusal := found.refusal) is not None:
        return refusal
    report = merged_usage([UsageReport.model_validate_json(each.body) for each in found.asked.values()])
    if ("format", "csv") in query:
        answer = found.answer(usage_table(report.data), CSV)
        answer.headers["Content-Disposition"] = 'attachment; filename="usage.csv"'
        return answer
    return found.answer(report.model_dump_json(by_alias=True))


async def merged_limits(routing: Routing, request: Request, secret: bytes | None) -> Response:
    """A tenant's quotas: its limits at its homes, what it holds anywhere. Raises `CellDown`."""
    found, homes = await _ask_all(routing, request, secret, parse_qsl(request.url.query, keep_blank_values=True))
    if (refusal := found.refusal) is not None:
        return refusal
    views = {name: QuotaView.model_validate_json(each.body) for name, each in found.asked.items()}
    names = [cell.name for cell in homes]
    merged = merged_quotas([views[name] for name in names], [view for name, view in views.items() if name not in names])
    return found.answer(merged.model_dump_json())


async def _ask_all(
    routing: Routing, request: Request, secret: bytes | None, query: Sequence[tuple[str, str]]
) -> tuple[Together, tuple[Cell, ...]]:
    homes, others = await routing.ordered(request.scope)
    cells = (*homes, *others)
    targets = {cell.name: _target(request.url.path, query, None) for cell in cells}
    return await _ask(routing, request, secret, cells, targets, homes), homes


async def _ask(
    routing: Routing,
    request: Request,
    secret: bytes | None,
    cells: Sequence[Cell],
    targets: Mapping[str, bytes],
    homes: Sequence[Cell],
) -> Together:
    asked = await routing.ask(cells, targets, asking_headers(request.scope, secret))
    # A cell whose Redis is away has not answered either.
    said = {name: each for name, each in asked.items() if each.status != 503 or name in {cell.name for cell in homes}}
    names = [cell.name for cell in cells]
    return Together(
        {name: said[name] for name in names if name in said},
        [cell.name for cell in homes if cell.name in names],
        [name for name in names if name not in said],
    )


def _target(path: str, query: Sequence[tuple[str, str]], cursor: str | None) -> bytes:
    own = urlencode([*query, *([("cursor", cursor)] if cursor else [])])
    return (f"{path}?{own}" if own else path).encode()
