"""Whose request it is, where no id says where it belongs. A cell authenticates; this only finds the tenant's place.

Keys that stand in the settings are known here. Of another the cells are asked, whose answer is kept for a minute: a
router that forgets it asks again, and whether the key opens anything its cell decides each time.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from starlette.requests import HTTPConnection
from starlette.types import Scope

from api.access.authentication import secret_of
from api.http.problems.problem import rate_limited
from api.router.connections import CellAnswer, CellConnections, CellDown, Headers
from api.router.forwarding import request_headers
from api.services.container import LOCAL_TENANT

KEPT_S = 60.0
MAX_KEPT = 10_000

MAX_ASKED_BYTES = 64 * 1024 * 1024
"""Of an answer that the router itself reads."""

_QUESTION = b"/v1/quotas"
"""Any key may ask it, and the answer names the tenant."""


class Tenants:
    """For one event loop."""

    def __init__(self, cells: Sequence[CellConnections], known: Mapping[str, str]) -> None:
        """known: sha256 of a key in hex -> tenant."""
        self._cells = cells
        self._known = known
        self._asked: OrderedDict[str, tuple[float, str]] = OrderedDict()

    async def tenant_of(self, scope: Scope) -> str | None:
        """None if no cell that answers knows the key. Raises `CellDown` if one that does not answer may know it,
        and the `Problem` of a header that holds no key.
        """
        secret = secret_of(HTTPConnection(scope))
        if secret is None:
            return LOCAL_TENANT
        digest = hashlib.sha256(secret).hexdigest()
        if digest in self._known:
            return self._known[digest]
        kept = self._asked.get(digest)
        if kept is not None and kept[0] > time.monotonic():
            return kept[1]
        tenant = await self._ask(asking_headers(scope, secret))
        if tenant is not None:
            self._asked[digest] = (time.monotonic() + KEPT_S, tenant)
            self._asked.move_to_end(digest)
            if len(self._asked) > MAX_KEPT:
                self._asked.popitem(last=False)
        return tenant

    async def _ask(self, headers: Headers) -> str | None:
        answers = await asyncio.gather(*(self._named_by(cell, headers) for cell in self._cells), return_exceptions=True)
        down: CellDown | None = None
        for answer in answers:
            match answer:
                case str():
                    return answer
                case CellDown():
                    down = answer
                case BaseException():
                    raise answer
                case None:
                    pass
        if down is not None:
            raise down
        return None

    async def _named_by(self, cell: CellConnections, headers: Headers) -> str | None:
        async with cell.send("GET", _QUESTION, headers) as answer:
            if answer.status == 401:
                return None
            if answer.status == 429:
                fields = {name.lower(): value for name, value in answer.headers}
                raise rate_limited("you ask too often", int(fields.get(b"retry-after", b"1")))
            if answer.status != 200:
                # One whose Redis is away cannot say.
                raise CellDown(cell.cell.name)
            return json.loads(await whole(answer, cell.cell.name))["tenant"]


async def whole(answer: CellAnswer, cell: str) -> bytes:
    """The body of an answer that the router reads itself. Raises `CellDown` for one that cannot be such."""
    parts = bytearray()
    async for part in answer.body:
        parts += part
        if len(parts) > MAX_ASKED_BYTES:
            raise CellDown(cell)
    return bytes(parts)


def asking_headers(scope: Scope, secret: bytes | None) -> Headers:
    """For a question of the router's own in the name of the one who asks."""
    left_out = {b"content-length", b"content-type", b"accept", b"accept-encoding", b"authorization", b"idempotency-key"}
    left_out |= {b"if-none-match", b"range", b"prefer"}
    headers = [field for field in request_headers(scope) if field[0] not in left_out]
    key = [] if secret is None else [(b"authorization", b"Bearer " + secret)]
    return [*headers, (b"accept", b"application/json"), *key]
