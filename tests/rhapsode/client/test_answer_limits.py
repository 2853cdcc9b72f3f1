"""What an answer may cost the memory of a client."""

from __future__ import annotations

import asyncio
import gzip
import json

import pytest

from rhapsode import AsyncRhapsode, Rhapsode
from rhapsode.client import answer_limits
from rhapsode.client.readiness import read_readiness
from rhapsode.errors import BadAnswer, NotFound, RhapsodeError
from tests.rhapsode.answers import job
from tests.rhapsode.conftest import Reply, ScriptedServer

JSON = {"Content-Type": "application/json; charset=utf-8"}
MANY = 1 << 21


def both_failures(script: ScriptedServer) -> list[RhapsodeError]:
    """What the two clients raise for the answers that are scripted, of which there are two."""

    async def asked() -> None:
        async with AsyncRhapsode(script.url) as client:
            await client.job("job_01")

    with Rhapsode(script.url) as client, pytest.raises(RhapsodeError) as first:
        client.job("job_01")
    with pytest.raises(RhapsodeError) as second:
        asyncio.run(asked())
    return [first.value, second.value]


@pytest.mark.parametrize("status", [200, 404, 503])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "gzip, gzip"])
def test_a_compressed_answer_is_not_inflated(script: ScriptedServer, status: int, encoding: str) -> None:
    bomb = gzip.compress(json.dumps({"title": "x" * MANY, "code": "x"}).encode())
    script.replies += [Reply(status, bomb, {**JSON, "Content-Encoding": encoding})] * 2

    failures = both_failures(script)

    assert [type(each) for each in failures] == [BadAnswer, BadAnswer]
    assert all("compressed body" in str(each) for each in failures)
    assert {sent.headers["accept-encoding"] for sent in script.received} == {"identity"}


def test_a_refusal_has_an_end(script: ScriptedServer) -> None:
    script.replies += [Reply(404, b"x" * MANY, {"Content-Type": "text/html"})] * 2

    failures = both_failures(script)

    assert [type(each) for each in failures] == [BadAnswer, BadAnswer]
    assert all("404 with more than 1048576 bytes" in str(each) for each in failures)


def test_json_has_an_end(script: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_limits, "MAX_JSON_BYTES", 1000)
    script.replies += [Reply(200, b"{" + b" " * 1000, JSON)] * 2

    failures = both_failures(script)

    assert [type(each) for each in failures] == [BadAnswer, BadAnswer]
    assert all("200 with more than 1000 bytes" in str(each) for each in failures)


def test_what_is_as_large_as_it_may_be_is_read(script: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps(job()).encode()
    monkeypatch.setattr(answer_limits, "MAX_JSON_BYTES", len(body))
    script.replies += [Reply(200, body, {**JSON, "Content-Encoding": "identity"})]
    script.answer(404, {"title": "No such job", "code": "not_found"})

    with Rhapsode(script.url) as client:
        assert client.job("job_01").state == "pending"
        with pytest.raises(NotFound):
            client.job("job_01")


def test_a_server_that_compresses_its_readiness_is_none_of_ours(script: ScriptedServer) -> None:
    script.replies.append(Reply(200, gzip.compress(b" " * MANY), {**JSON, "Content-Encoding": "gzip"}))

    assert read_readiness(script.url) is None


@pytest.mark.parametrize("encoding", ["identity", "aws-chunked", "Identity, aws-chunked"])
def test_bytes_as_they_are_have_other_names_too(script: ScriptedServer, encoding: str) -> None:
    """An S3 server may name how the bytes were once uploaded."""
    script.replies += [Reply(200, json.dumps(job()).encode(), {**JSON, "Content-Encoding": encoding})]

    with Rhapsode(script.url) as client:
        assert client.job("job_01").id
