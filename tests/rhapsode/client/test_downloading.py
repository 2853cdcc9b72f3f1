"""A download that breaks goes on where it was, if the server can; else it begins again."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest

from rhapsode import AsyncRhapsode, Rhapsode
from rhapsode.client.downloading import PIECE_BYTES
from rhapsode.client.resources import Job
from tests.rhapsode import answers
from tests.rhapsode.conftest import ScriptedServer

SPEECH = b"RIFF" + b"and all that follows it " * 30_000
CUT = len(SPEECH) - 5
KEPT = CUT // PIECE_BYTES * PIECE_BYTES
"""A piece that is not whole is not written."""
JOB = Job.model_validate(
    answers.job(
        id="job_1",
        state="succeeded",
        artifacts=[
            answers.answer("get_job")["artifacts"][0]
            | {"name": "a.wav", "bytes": len(SPEECH), "sha256": hashlib.sha256(SPEECH).hexdigest()}
        ],
    )
)


def download(server: ScriptedServer, path: Path, is_async: bool) -> list[int]:
    """What it told of its bytes."""
    told: list[int] = []

    async def awaited() -> None:
        async with AsyncRhapsode(server.url) as client:
            await client.download(JOB, "a.wav", path, on_bytes=told.append)

    if is_async:
        asyncio.run(awaited())
    else:
        with Rhapsode(server.url) as client:
            client.download(JOB, "a.wav", path, on_bytes=told.append)
    return told


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def is_async(request: pytest.FixtureRequest) -> bool:
    return request.param


def test_it_goes_on_behind_the_last_byte(script: ScriptedServer, tmp_path: Path, is_async: Any) -> None:
    script.cut(SPEECH[:CUT])
    script.answer(206, SPEECH[KEPT:].decode(), {"Content-Range": f"bytes {KEPT}-{len(SPEECH) - 1}/{len(SPEECH)}"})

    told = download(script, tmp_path / "a.wav", is_async)

    assert (tmp_path / "a.wav").read_bytes() == SPEECH
    assert [each.headers.get("range") for each in script.received] == [None, f"bytes={KEPT}-"]
    assert told == sorted(told)
    assert (KEPT in told, told[-1]) == (True, len(SPEECH))


@pytest.mark.parametrize(
    "answers",
    [
        [(200, SPEECH.decode(), {})],
        [(206, SPEECH.decode(), {"Content-Range": f"bytes 0-{len(SPEECH) - 1}/{len(SPEECH)}"})],
        [(416, "", {}), (200, SPEECH.decode(), {})],
    ],
    ids=["whole", "another-part", "nothing-there"],
)
def test_it_begins_again_where_the_server_does(
    script: ScriptedServer, tmp_path: Path, is_async: Any, answers: list[tuple[int, str, dict[str, str]]]
) -> None:
    script.cut(SPEECH[:CUT])
    for status, body, headers in answers:
        script.answer(status, body, headers)

    download(script, tmp_path / "a.wav", is_async)

    assert (tmp_path / "a.wav").read_bytes() == SPEECH
    assert [path.name for path in tmp_path.iterdir()] == ["a.wav"]
