"""Input that comes in many pieces: a piece costs about the same whatever it holds, so pieces are counted.

| input | counted | limit | who pays |
|---|---|---|---|
| frames of a WebSocket | a connection, a tenant | 300/s, 1,000/s | they wait |
| frames that bring no message | a connection | 100/s | closed, 1008 |
| fragments of a message | a message | 256 | closed, 1008 |
| handshakes of WebSockets | a process | 300/s | they wait |
| chunks of a body | a body | 1,000/s; 4,096 and one for each 32 bytes | it waits; 400 |
| a body that trickles | a body | 500 bytes/s after the first seconds | 408 |
| fields of a head | a head | 16 KiB | 431 |
| parts of a form | a form | 16 fields and a file | 400 |
| values of a JSON body | a body | 1,000,000; 32 levels; 1,000 keys | 400 |
| lines of a batch | a batch | 100,000 | 422 |
| WebSockets, event streams, held answers | a tenant | half of the connections | 503; answered at once |

Frames: `middleware/test_websockets.py`. Chunks, heads, slow bodies: `middleware/test_connections.py`.
JSON: `test_json_body.py`. Here is the rest.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from api.batches import lines as lines_module
from api.http.connection_shares import ConnectionShares
from api.http.open_sockets import OpenSockets
from api.http.problems.problem import HttpProblem
from api.settings import ApiSettings
from api.voices.upload import MAX_FIELDS
from storage.tenants.api_keys import key_digest
from tests.api.harness import SMALL, ServedApi, serve
from tests.settings import PATIENT, api_settings_of


def test_a_form_of_too_many_parts_is_refused(api: ServedApi) -> None:
    fields = {f"field_{number}": (None, b"") for number in range(MAX_FIELDS + 1)}

    answer = api.http.post("/v1/voices", files=fields)

    assert answer.status_code == 400
    assert "form" in answer.json()["detail"]


def test_a_batch_of_too_many_lines_is_refused(api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "MAX_LINES", 10)
    api.models.publish(SMALL)
    lines = b"".join(b'{"custom_id":"%d","input":{"text":"a"}}\n' % number for number in range(11))
    place = api.http.post("/v1/uploads", json={"bytes": len(lines)}).json()
    api.http.put(place["url"], content=lines, headers=place["headers"])

    answer = api.http.post("/v1/batches", json={"upload_id": place["id"]})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["code"] == "too_many"


def test_a_tenant_holds_half_of_the_sockets_at_most() -> None:
    sockets = OpenSockets(ConnectionShares(4))
    with sockets.place("ann"), sockets.place("ann"), pytest.raises(HttpProblem) as refused, sockets.place("ann"):
        pass
    assert refused.value.status == 503
    with sockets.place("ben"):
        pass


def test_a_tenant_holds_half_of_the_connections_with_streams_and_waits(api_settings: ApiSettings) -> None:
    """Of eight: its fifth stream is refused and it waits for no answer, while another tenant does both."""
    keys = {key_digest(key): key for key in ("ann", "ben")}
    later = {"input": {"text": "One."}, "not_before": f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"}
    settings = api_settings_of(api_settings, api_keys=keys)
    with serve(settings, limits=replace(PATIENT, connections=8)) as api, ExitStack() as streams:
        api.models.publish(SMALL)
        jobs = {}
        for name in ("ann", "ben"):
            answer = httpx.post(f"{api.url}/v1/jobs", json=later, headers=bearer(name))
            jobs[name] = f"{api.url}/v1/jobs/{answer.json()['id']}"
        for _ in range(4):
            streams.enter_context(httpx.stream("GET", f"{jobs['ann']}/events", headers=bearer("ann")))

        refused = httpx.get(f"{jobs['ann']}/events", headers=bearer("ann"))
        at_once = httpx.get(jobs["ann"], headers={**bearer("ann"), "Prefer": "wait=60"}, timeout=30)
        other = streams.enter_context(httpx.stream("GET", f"{jobs['ben']}/events", headers=bearer("ben")))

        assert (refused.status_code, refused.json()["code"]) == (503, "too_many_connections")
        assert (at_once.status_code, at_once.json()["state"]) == (200, "pending")
        assert other.status_code == 200


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}
