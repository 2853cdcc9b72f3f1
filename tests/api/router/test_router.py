"""A router in front of four cells, each with a Valkey of its own."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.router.cells import parse_cells
from api.router.connections import CellConnections
from api.router.placement import Placement
from api.router.rebalancing import QuotaRefused, Rebalancing
from rhapsode.contract.operators.quotas import QuotaOrder
from storage.ids import cell_of
from tests.api.router.running_cells import (
    NAMES,
    SPREAD,
    TENANTS,
    RunningCells,
    addresses,
    as_tenant,
    client_of,
    key_of,
    running_cells,
    running_router,
)
from tests.operations.ports import free_ports

PLAIN_ID = "job_01jxkz4w7n2v8q3m5r6t9a0bcd"


def test_each_tenant_has_its_cell_and_every_later_call_finds_it(cells: RunningCells) -> None:
    seen: set[str] = set()

    for tenant in TENANTS:
        made = cells.submit(tenant)
        assert made.status_code == 202, made.text
        job = made.json()["id"]
        home = cells.placement().homes(tenant)[0].name
        assert cell_of(job) == made.headers["rhapsode-cell"] == home
        seen.add(home)

        read = cells.http.get(f"/v1/jobs/{job}", headers=as_tenant(tenant))
        cancelled = cells.http.post(f"/v1/jobs/{job}/cancel", headers=as_tenant(tenant))

        assert (read.status_code, cancelled.status_code) == (200, 200)
        assert read.headers["rhapsode-cell"] == home
    assert len(seen) > 1


def test_links_in_answers_lead_back_to_the_router(cells: RunningCells) -> None:
    made = cells.submit(TENANTS[0])

    assert made.headers["location"].startswith(cells.url)
    assert made.json()["links"]["self"].startswith(cells.url)


def test_another_tenants_job_is_not_found_through_the_router_either(cells: RunningCells) -> None:
    job = cells.submit(TENANTS[0]).json()["id"]

    answer = cells.http.get(f"/v1/jobs/{job}", headers=as_tenant(TENANTS[1]))

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_request_without_a_key_is_refused_as_a_cell_does(cells: RunningCells) -> None:
    answer = cells.http.get("/v1/jobs")

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_request_keeps_its_id_on_the_whole_way(cells: RunningCells) -> None:
    answer = cells.http.get("/v1/jobs/nothing", headers=as_tenant(TENANTS[0]) | {"X-Request-ID": "mine-1"})

    assert answer.headers.get_list("x-request-id") == ["mine-1"]
    assert answer.json()["request_id"] == "mine-1"


def test_a_tenant_larger_than_a_cell_has_its_jobs_in_several(cells: RunningCells) -> None:
    made = [cells.submit(SPREAD) for _ in range(40)]

    assert {answer.status_code for answer in made} == {202}
    assert len({cell_of(answer.json()["id"]) for answer in made}) == len(NAMES)


def test_a_repeat_under_an_idempotency_key_comes_to_the_same_cell(cells: RunningCells) -> None:
    keys = {"Idempotency-Key": "one-and-the-same"}

    first, again = (cells.submit(SPREAD, **keys) for _ in range(2))

    assert first.json()["id"] == again.json()["id"]
    assert again.headers["idempotency-replayed"] == "true"


def test_what_a_spread_tenant_stores_needs_the_name_of_a_cell(cells: RunningCells) -> None:
    order = {"name": "words", "rules": [{"grapheme": "GIF", "alias": "jiff"}]}
    path = "/v1/pronunciation-dictionaries"

    refused = cells.http.post(path, json=order, headers=as_tenant(SPREAD))
    made = cells.http.post(path, json=order, headers=as_tenant(SPREAD) | {"Rhapsode-Cell": "c"})

    assert (refused.status_code, refused.json()["code"]) == (409, "state_conflict")
    assert made.status_code == 201
    assert cell_of(made.json()["id"]) == "c"
    assert cells.http.get(f"{path}/{made.json()['id']}", headers=as_tenant(SPREAD)).status_code == 200


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_list_has_the_jobs_of_all_cells_in_order_page_by_page(cells: RunningCells, order: str) -> None:
    made = {cells.submit(SPREAD, f"Number {number}.").json()["id"] for number in range(23)}

    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = cells.http.get("/v1/jobs", params={"limit": 7, "order": order, **cursor}, headers=as_tenant(SPREAD))
        assert page.status_code == 200, page.text
        assert "x-cells-missing" not in page.headers
        found += [job["id"] for job in page.json()["data"]]
        if not page.json()["has_more"]:
            break
        cursor = {"cursor": page.json()["next_cursor"]}

    assert made <= set(found)
    assert found == sorted(set(found), reverse=order == "desc")


def test_a_cursor_that_no_list_gave_out_is_refused(cells: RunningCells) -> None:
    answer = cells.http.get("/v1/jobs", params={"cursor": "bm90aGluZw"}, headers=as_tenant(TENANTS[0]))

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "invalid_cursor")


def test_usage_and_quotas_are_of_all_cells(cells: RunningCells) -> None:
    usage = cells.http.get("/v1/usage", headers=as_tenant(SPREAD))
    table = cells.http.get("/v1/usage", params={"format": "csv"}, headers=as_tenant(SPREAD))
    quotas = cells.http.get("/v1/quotas", headers=as_tenant(SPREAD)).json()

    assert usage.json()["total"]["segments"] == 0
    assert table.text.startswith("day,key_id,segments")
    assert quotas["limits"]["jobs"] == 4 * 10_000
    held = [
        cells.http.get("/v1/quotas", headers=as_tenant(SPREAD) | {"Rhapsode-Cell": name}).json()["held"]["jobs"]
        for name in NAMES
    ]
    assert quotas["held"]["jobs"] == sum(held)


def test_an_id_of_ones_own_without_a_cell_is_found(cells: RunningCells) -> None:
    job = "job_" + cells.submit(SPREAD).json()["id"][4:30]
    request = {"input": {"text": "Chosen."}}

    made = cells.http.put(f"/v1/jobs/{job}", json=request, headers=as_tenant(SPREAD))
    again = cells.http.put(f"/v1/jobs/{job}", json=request, headers=as_tenant(SPREAD))
    read = cells.http.get(f"/v1/jobs/{job}", headers=as_tenant(SPREAD))

    assert (made.status_code, again.status_code, read.status_code) == (202, 200, 200)
    assert read.json()["id"] == job


def test_what_no_cell_has_is_not_found(cells: RunningCells) -> None:
    answers = [
        cells.http.get(f"/v1/jobs/{job}", headers=as_tenant(TENANTS[0]))
        for job in (PLAIN_ID, f"{PLAIN_ID}_nowhere", "not-an-id")
    ]

    assert [answer.status_code for answer in answers] == [404, 404, 404]


def test_files_pass_in_both_directions_and_by_range(cells: RunningCells) -> None:
    tenant, data = TENANTS[0], bytes(range(256)) * 8192
    upload = cells.http.post("/v1/uploads", json={"bytes": len(data)}, headers=as_tenant(tenant))
    assert upload.status_code == 201, upload.text
    link = upload.json()["url"]
    assert link.startswith(cells.url)

    def in_pieces() -> Iterator[bytes]:
        for start in range(0, len(data), 50_000):
            yield data[start : start + 50_000]

    stored = cells.http.put(link, content=in_pieces(), headers=upload.json()["headers"])
    known = cells.http.get(f"/v1/uploads/{upload.json()['id']}", headers=as_tenant(tenant))

    assert stored.status_code == 201, stored.text
    assert known.json()["stored_bytes"] == len(data)
    part = cells.http.get(cells.signed(upload.json()["id"], tenant), headers={"Range": "bytes=1000-1999"})
    assert (part.status_code, part.content) == (206, data[1000:2000])
    assert part.headers["content-range"] == f"bytes 1000-1999/{len(data)}"


def test_events_pass_as_they_come_and_end_with_the_client(cells: RunningCells) -> None:
    tenant = TENANTS[0]
    job = cells.submit(tenant).json()["id"]

    with cells.http.stream("GET", f"/v1/jobs/{job}/events", headers=as_tenant(tenant)) as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        lines = events.iter_lines()
        first = next(lines)
        cells.http.post(f"/v1/jobs/{job}/cancel", headers=as_tenant(tenant))
        later = next(line for line in lines if "cancelled" in line)

    assert first
    assert later


def test_a_held_answer_is_given_when_the_job_ends(cells: RunningCells) -> None:
    tenant = TENANTS[0]
    job = cells.submit(tenant).json()["id"]
    cells.http.post(f"/v1/jobs/{job}/cancel", headers=as_tenant(tenant))

    answer = cells.http.get(f"/v1/jobs/{job}", headers=as_tenant(tenant) | {"Prefer": "wait=20"})

    assert answer.json()["state"] == "cancelled"
    assert answer.headers["preference-applied"] == "wait=20"


def test_a_client_that_goes_takes_its_held_request_along(cells: RunningCells) -> None:
    tenant = TENANTS[0]
    home = cells.cells[cells.placement().homes(tenant)[0].name]
    job = cells.submit(tenant).json()["id"]
    host, port = cells.url.removeprefix("http://").split(":")
    before = under_way(home.url)
    with socket.create_connection((host, int(port))) as held:
        head = f"GET /v1/jobs/{job} HTTP/1.1\r\nHost: {host}\r\nPrefer: wait=60\r\n"
        held.sendall((head + "".join(f"{k}: {v}\r\n" for k, v in as_tenant(tenant).items()) + "\r\n").encode())
        eventually(lambda: under_way(home.url) > before)

    eventually(lambda: under_way(home.url) <= before)


def test_the_page_and_the_description_come_from_a_cell(cells: RunningCells) -> None:
    page, description = cells.http.get("/"), cells.http.get("/openapi.json")

    assert page.status_code == 200
    assert description.json()["openapi"]


def test_a_handshake_that_a_cell_refuses_is_refused(cells: RunningCells) -> None:
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }

    answer = cells.http.get("/v1/audio/speech/ws", headers=headers)

    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthorized"


def test_a_draining_cell_answers_for_its_ids_and_gets_nothing_new(cells: RunningCells) -> None:
    tenant = cells.tenant_at("b")
    old = cells.submit(tenant).json()["id"]
    assert cell_of(old) == "b"

    drained = addresses(cells.cells.values(), b=";draining")
    with running_router(drained, {}) as url, client_of(url) as http:
        new = http.post("/v1/jobs", json={"input": {"text": "New."}}, headers=as_tenant(tenant)).json()["id"]
        listed = http.get("/v1/jobs", headers=as_tenant(tenant)).json()["data"]
        read = http.get(f"/v1/jobs/{old}", headers=as_tenant(tenant))
        states = http.get("/readyz").json()["cells"]

    assert cell_of(new) != "b"
    assert read.status_code == 200
    assert {old, new} <= {job["id"] for job in listed}
    assert states == {"a": "ready", "b": "draining", "c": "ready", "d": "ready"}


def test_a_cell_is_added_drained_and_taken_away_and_nothing_of_the_others_is_lost(cells: RunningCells) -> None:
    """As its runbook says it, routers restarted one by one: those of before and after run side by side."""
    every = cells.cells

    def submitted(http: httpx.Client) -> dict[str, str]:
        """A job of each tenant."""
        answers = {
            tenant: http.post("/v1/jobs", json={"input": {"text": "New."}}, headers=as_tenant(tenant))
            for tenant in TENANTS
        }
        assert {answer.status_code for answer in answers.values()} == {202}
        return {tenant: answer.json()["id"] for tenant, answer in answers.items()}

    def statuses(http: httpx.Client, jobs: dict[str, str]) -> dict[str, int]:
        """By cell, of reading them."""
        read = {
            (cell_of(job), http.get(f"/v1/jobs/{job}", headers=as_tenant(tenant)).status_code)
            for tenant, job in jobs.items()
        }
        assert len(read) == len({cell for cell, _ in read}), "jobs of one cell are answered alike"
        return {cell or "": status for cell, status in read}

    three = addresses(each for name, each in every.items() if name != "d")
    with running_router(three, {}) as before, client_of(before) as http_before:
        old = submitted(http_before)
        with running_router(addresses(every.values()), {}) as after, client_of(after) as http:
            added = submitted(http)
            still_old = submitted(http_before)
            found = [statuses(http, jobs) for jobs in (old, added, still_old)]
    drained = addresses(every.values(), b=";draining")
    with running_router(drained, {}) as url, client_of(url) as http:
        while_draining = submitted(http)
        found_draining = [statuses(http, jobs) for jobs in (old, added, while_draining)]
    left = addresses(each for name, each in every.items() if name != "b")
    with running_router(left, {}) as url, client_of(url) as http:
        after_all = submitted(http)
        found_after = statuses(http, {**old, **added})
        lists = [http.get("/v1/jobs", headers=as_tenant(tenant)) for tenant in TENANTS]

    moved = {tenant for tenant in TENANTS if cell_of(old[tenant]) != cell_of(added[tenant])}
    assert {cell_of(added[tenant]) for tenant in moved} == {"d"}
    assert set(old) - moved, "those whose cell is none of the new one's stay"
    assert all(set(each.values()) == {200} for each in (*found, *found_draining))
    assert "b" in {cell_of(job) for job in old.values()}
    assert "b" not in {cell_of(job) for job in (*while_draining.values(), *after_all.values())}
    assert {cell: status for cell, status in found_after.items() if status != 200} == {"b": 404}
    assert {answer.status_code for answer in lists} == {200}
    assert not any("x-cells-missing" in answer.headers for answer in lists)
    stayed = [tenant for tenant in TENANTS if cell_of(while_draining[tenant]) == cell_of(added[tenant])]
    assert {cell_of(added[tenant]) for tenant in TENANTS if tenant not in stayed} <= {"b"}


def test_a_list_without_pages_has_what_all_cells_have(cells: RunningCells) -> None:
    made = [
        cells.http.post(
            "/v1/webhook-endpoints",
            json={"url": "https://93.184.215.14/hook"},
            headers=as_tenant(SPREAD) | {"Rhapsode-Cell": cell},
        ).json()["id"]
        for cell in ("b", "d")
    ]

    answer = cells.http.get("/v1/webhook-endpoints", headers=as_tenant(SPREAD))

    assert answer.status_code == 200, answer.text
    assert [each["id"] for each in answer.json()["data"]] == made[::-1]
    assert answer.json().keys() == {"data"}


def test_what_a_spread_tenant_may_hold_is_divided_by_what_its_cells_hold(cells: RunningCells) -> None:
    for _ in range(9):
        assert cells.submit(SPREAD, **{"Rhapsode-Cell": "a"}).status_code == 202
    total = {"jobs": 1000, "voices": 7}
    more = {"RHAPSODE_TENANT_QUOTAS": json.dumps({SPREAD: total}), "RHAPSODE_OPERATOR_KEY": key_of("operator")}

    with running_router(addresses(cells.cells.values()), {SPREAD: len(NAMES)}, more=more):
        eventually(lambda: sum(view["own"]["jobs"] or 0 for view in quotas_of(cells)) == 1000)

    views = quotas_of(cells)
    spare = 1000 - sum(view["held"]["jobs"] for view in views)
    for view in views:
        assert abs(view["own"]["jobs"] - view["held"]["jobs"] - spare / len(NAMES)) <= 20
        assert view["own"]["voices"] == 7


def test_the_part_of_a_cell_that_is_away_is_the_others(cells: RunningCells) -> None:
    running = parse_cells(addresses(cells.cells.values()) + f",z=http://127.0.0.1:{free_ports(1)[0]}")

    asyncio.run(divide(Placement(running, {SPREAD: len(NAMES) + 1}), "operator"))

    assert sum(view["own"]["jobs"] for view in quotas_of(cells)) == 500


def test_limits_that_the_routers_key_cannot_set_are_said(cells: RunningCells) -> None:
    with pytest.raises(QuotaRefused, match="answers 403: is RHAPSODE_OPERATOR_KEY"):
        asyncio.run(divide(cells.placement(), TENANTS[0]))


def quickest_submission_s(cells: RunningCells, tenant: str) -> float:
    """Of ten."""
    seconds: list[float] = []
    for _ in range(10):
        begun_s = time.monotonic()
        assert cells.submit(tenant).status_code == 202
        seconds.append(time.monotonic() - begun_s)
    return min(seconds)


def test_a_killed_cell_costs_its_own_tenants_and_nobody_else(short_dir: Path) -> None:
    with running_cells(short_dir / "killed") as own:
        lost, other = own.tenant_at("a"), own.tenant_at("c")
        before_s = quickest_submission_s(own, other)
        of_lost, of_other = own.submit(lost).json()["id"], own.submit(other).json()["id"]

        own.cells["a"].kill()

        refused = [
            own.http.get(f"/v1/jobs/{of_lost}", headers=as_tenant(lost)),
            own.submit(lost),
            own.http.get("/v1/jobs", headers=as_tenant(lost)),
            own.http.get("/v1/quotas", headers=as_tenant(lost)),
        ]
        assert [answer.status_code for answer in refused] == [503] * 4
        assert {answer.json()["code"] for answer in refused} == {"cell_unavailable"}
        assert all(int(answer.headers["retry-after"]) > 0 for answer in refused)

        # The quickest, as a busy machine holds up some.
        assert quickest_submission_s(own, other) < 20 * before_s
        assert own.http.get(f"/v1/jobs/{of_other}", headers=as_tenant(other)).status_code == 200
        assert len(listed(own, other)) == 21
        assert own.http.get("/readyz").json()["cells"]["a"] == "unavailable"

        own.cells["a"].start()

        eventually(lambda: own.http.get(f"/v1/jobs/{of_lost}", headers=as_tenant(lost)).status_code == 200)


def test_a_frozen_cell_costs_its_own_tenants_and_nobody_else(short_dir: Path) -> None:
    with running_cells(short_dir / "frozen") as own:
        frozen, other = own.tenant_at("b"), own.tenant_at("c")
        api = own.cells["b"].process
        assert api is not None

        api.send_signal(signal.SIGSTOP)
        try:
            eventually(lambda: answered(own, frozen) == 503)
            assert answered(own, frozen) == 503
            assert own.submit(other).status_code == 202
        finally:
            api.send_signal(signal.SIGCONT)

        eventually(lambda: answered(own, frozen) == 202)


def answered(cells: RunningCells, tenant: str) -> int | None:
    """None if nothing is answered."""
    try:
        return cells.http.post(
            "/v1/jobs", json={"input": {"text": "Good morning."}}, headers=as_tenant(tenant), timeout=2
        ).status_code
    except httpx.ReadTimeout:
        return None


def listed(cells: RunningCells, tenant: str) -> set[str]:
    """All of a tenant's jobs while the cell a is away: pages end, and say each time what they lack."""
    found: set[str] = set()
    cursor: dict[str, str] = {}
    while True:
        page = cells.http.get("/v1/jobs", params={"limit": 8, **cursor}, headers=as_tenant(tenant))
        assert page.status_code == 200
        assert page.headers["x-cells-missing"] == "a"
        found |= {job["id"] for job in page.json()["data"]}
        if not page.json()["has_more"]:
            return found
        cursor = {"cursor": page.json()["next_cursor"]}


async def divide(placement: Placement, key_holder: str) -> None:
    """500 jobs among the spread tenant's cells."""
    connections = {cell.name: CellConnections(cell, ssl.create_default_context()) for cell in placement.fleet}
    try:
        await Rebalancing(placement, connections, {}, key_of(key_holder)).divide(SPREAD, QuotaOrder(jobs=500))
    finally:
        for each in connections.values():
            await each.close()


def quotas_of(cells: RunningCells) -> list[dict[str, Any]]:
    """Of the spread tenant, as each cell has them."""
    path = f"/v1/admin/tenants/{SPREAD}/quotas"
    return [
        cells.http.get(path, headers=as_tenant("operator") | {"Rhapsode-Cell": name}).json() for name in cells.cells
    ]


def under_way(url: str) -> int:
    lines = httpx.get(f"{url}/metrics", headers=as_tenant("operator")).text.splitlines()
    (line,) = (line for line in lines if line.startswith("rhapsode_http_requests_in_progress "))
    return int(float(line.split()[1]))


def eventually(holds: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < give_up_s, "it did not come"
        time.sleep(0.05)
