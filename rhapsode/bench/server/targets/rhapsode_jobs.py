"""Rhapsode's jobs: from the submission to the last byte of the finished WAV."""

from __future__ import annotations

import json
from urllib.parse import urljoin, urlsplit

from pydantic import BaseModel, ValidationError

from rhapsode.bench.server.listening.ear import Ear
from rhapsode.bench.server.orders import Order, Speaking
from rhapsode.bench.server.targets.target import FRAME_S, authorization, present
from rhapsode.bench.server.targets.voice_tasks import EVERY_TASK, job_fields
from rhapsode.bench.server.wire.errors import NotHeard, Refused
from rhapsode.bench.server.wire.http import HttpConnection, connected, read_origin
from rhapsode.contract.jobs.states import JobState

_HOLD = {"Prefer": "wait=30"}


class RhapsodeJobs:
    """What was spoken for an earlier job is spoken again (`reuse`)."""

    tasks = EVERY_TASK
    frame_s: float | None = FRAME_S

    def __init__(self, speaking: Speaking) -> None:
        self._speaking = speaking
        self._origin = read_origin(speaking.url)
        self._headers = {**authorization(speaking), **_HOLD}

    async def speak(self, order: Order, ear: Ear) -> None:
        async with connected(self._origin) as connection:
            ear.sent()
            job = await self._ask(connection, "POST", "/v1/jobs", self._body(order))
            while not job.state.is_terminal:
                job = await self._ask(connection, "GET", f"/v1/jobs/{job.id}")
        if not job.artifacts:
            raise NotHeard(f"the job {job.state} without a file")
        await self._fetch(job.artifacts[0].url, ear)
        ear.end()

    def _body(self, order: Order) -> bytes:
        speaking = self._speaking
        fields = present(model=speaking.model, voice=speaking.voice, instructions=speaking.instructions)
        output = {"formats": [{"type": "wav"}]}
        job = {"input": {"text": order.text}, "output": output, "reuse": False, **fields, **job_fields(speaking)}
        return json.dumps({**job, **speaking.parameters}).encode()

    async def _ask(self, connection: HttpConnection, method: str, path: str, body: bytes = b"") -> _Job:
        headers = {**self._headers, "Content-Type": "application/json"} if body else self._headers
        answer = await connection.ask(method, path, headers, body)
        if not answer.is_success:
            raise await connection.refused(answer)
        try:
            return _Job.model_validate_json(await connection.text())
        except ValidationError as error:
            raise NotHeard("the answer is no job") from error

    async def _fetch(self, link: str, ear: Ear) -> None:
        """By a signed link, wherever the files are."""
        address = urlsplit(urljoin(self._speaking.url, link))
        origin = read_origin(f"{address.scheme}://{address.netloc}")
        async with connected(origin) as connection:
            answer = await connection.ask("GET", f"{address.path}?{address.query}", {})
            if not answer.is_success:
                raise Refused(answer.status, "for the finished file")
            ear.wav_form()
            async for piece in connection.pieces():
                ear.hear(piece)


class _File(BaseModel):
    url: str


class _Job(BaseModel):
    """What is looked at."""

    id: str
    state: JobState
    artifacts: list[_File] = []
