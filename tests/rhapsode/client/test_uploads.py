"""Files that the clients upload, to a real server and to one that breaks off."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from rhapsode import AsyncRhapsode, InvalidRequest, Rhapsode
from rhapsode.client.retries import RetryPolicy
from rhapsode.errors import BadAnswer
from rhapsode.stack.stack import Stack
from tests.rhapsode import answers
from tests.rhapsode.conftest import ScriptedServer

BOOK = bytes(range(256)) * 4_000


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.epub"
    path.write_bytes(BOOK)
    return path


def stored_bytes(server_url: str, upload_id: str) -> int:
    return httpx.get(f"{server_url}/v1/uploads/{upload_id}").json()["stored_bytes"]


def test_both_clients_upload_a_file(stack: Stack, client: Rhapsode, book: Path) -> None:
    async def upload() -> str:
        async with AsyncRhapsode(stack.url) as client:
            return (await client.upload(book)).id

    ids = [client.upload(book).id, asyncio.run(upload())]

    assert [stored_bytes(stack.url, each) for each in ids] == [len(BOOK)] * 2


def test_an_empty_file_is_refused_with_the_reason(client: Rhapsode, tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()

    with pytest.raises(InvalidRequest, match="bytes"):
        client.upload(empty)


def test_a_link_that_is_no_address_is_said_so(script: ScriptedServer, book: Path) -> None:
    async def upload() -> None:
        async with AsyncRhapsode(script.url) as client:
            await client.upload(book)

    for _ in range(2):
        script.answer(201, answers.answer("post_upload", "201", url="https://host:port/"))

    with Rhapsode(script.url) as client, pytest.raises(BadAnswer, match="no address for the upload"):
        client.upload(book)
    with pytest.raises(BadAnswer, match="no address for the upload"):
        asyncio.run(upload())


def test_a_file_whose_link_failed_is_sent_again_under_another(script: ScriptedServer, book: Path) -> None:
    for name in ("first", "second"):
        place = answers.answer("post_upload", "201", id=name, url=f"{script.url}/{name}")
        script.answer(201, place | {"headers": {"Content-Length": str(len(BOOK))}})
        script.answer(503 if name == "first" else 201, {})

    with Rhapsode(script.url, api_key="secret", retries=RetryPolicy(first_delay_s=0.01)) as client:
        uploaded = client.upload(book)

    assert uploaded.id == "second"
    assert [request.path for request in script.received] == ["/v1/uploads", "/first", "/v1/uploads", "/second"]
    puts = [request for request in script.received if request.method == "PUT"]
    assert all(request.body == BOOK and "authorization" not in request.headers for request in puts)
