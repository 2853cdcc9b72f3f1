"""Uploads through the API of a folder store."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from storage.ids import TenantId, UploadId
from storage.objects.keys import upload
from storage.objects.uploads import LIFETIME_S, is_over, take_upload
from tests.api.harness import ServedApi

BOOK = bytes(range(256)) * 4_000
"""About a megabyte: more than a request body may have here."""


def order(api: ServedApi, num_bytes: int) -> dict[str, Any]:
    answer = api.http.post("/v1/uploads", json={"bytes": num_bytes})
    assert answer.status_code == 201, answer.text
    return answer.json()


def send(place: dict[str, Any], content: bytes) -> httpx.Response:
    return httpx.put(place["url"], content=content, headers=place["headers"])


def test_a_file_larger_than_a_request_arrives_and_is_taken_up(api: ServedApi) -> None:
    place = order(api, len(BOOK))

    before = api.http.get(f"/v1/uploads/{place['id']}")
    sent = send(place, BOOK)
    after = api.http.get(f"/v1/uploads/{place['id']}")
    taken = take_upload(api.objects, upload(TenantId("local"), UploadId(place["id"])), "jobs/local/job_1/input.epub")

    assert before.status_code == 404
    assert sent.status_code == 201, sent.text
    assert after.json()["stored_bytes"] == len(BOOK)
    assert api.objects.get(taken.stored.key) == BOOK
    assert taken.head == BOOK[: len(taken.head)]


def test_a_link_takes_one_file_of_the_length_that_was_said(api: ServedApi) -> None:
    place = order(api, 1_000)

    for content in (b"", BOOK[:999], BOOK[:1_001]):
        refused = httpx.put(place["url"], content=content)
        assert refused.status_code == 400, refused.text
        assert refused.json()["code"] == "invalid_request"
    assert send(place, BOOK[:1_000]).status_code == 201
    assert send(place, BOOK[1_000:2_000]).status_code == 409


def test_a_link_that_was_changed_or_is_for_reading_stores_nothing(api: ServedApi) -> None:
    place = order(api, 10)
    other = order(api, 10)

    forged = place["url"].replace(place["id"], other["id"])
    longer = place["url"].replace("bytes=10", "bytes=11")

    assert httpx.put(forged, content=b"0123456789").status_code == 403
    assert httpx.put(longer, content=b"0123456789a").status_code == 403
    assert httpx.get(place["url"]).status_code == 403
    assert httpx.put(place["url"].partition("?")[0], content=b"0123456789").status_code == 403


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"bytes": 0}, 422, "invalid_request"),
        ({"bytes": -5}, 422, "invalid_request"),
        ({"bytes": "many"}, 422, "invalid_request"),
        ({}, 422, "invalid_request"),
        ({"bytes": 10, "name": "x"}, 422, "invalid_request"),
        ({"bytes": 10**12}, 413, "payload_too_large"),
    ],
)
def test_an_order_that_cannot_be_meant_is_refused(api: ServedApi, body: dict[str, Any], status: int, code: str) -> None:
    answer = api.http.post("/v1/uploads", json=body)

    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_a_deleted_upload_is_not_found(api: ServedApi) -> None:
    place = order(api, 5)
    send(place, b"12345")
    address = f"/v1/uploads/{place['id']}"

    assert [api.http.delete(address).status_code for _ in range(2)] == [204, 404]
    assert api.http.get(address).status_code == 404
    assert api.http.get("/v1/uploads/upl_none").status_code == 404


def test_an_upload_is_over_after_a_day(api: ServedApi) -> None:
    place = order(api, 5)
    send(place, b"12345")
    entry = api.objects.stat(upload(TenantId("local"), UploadId(place["id"])))

    assert entry is not None
    assert not is_over(entry, entry.modified_at_s + LIFETIME_S - 1)
    assert is_over(entry, entry.modified_at_s + LIFETIME_S + 1)
