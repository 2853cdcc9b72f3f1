"""The asyncio client.

from rhapsode import AsyncRhapsode

async with AsyncRhapsode("http://127.0.0.1:8765") as client:
    job = await client.wait(await client.submit_job("The wind and the sun were disputing.", voice="anna"))
    await client.download(job, "narration.wav", "fable.wav")
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Literal, TypeVar, Unpack

import httpx
from httpx_sse import EventSource
from pydantic import JsonValue

from rhapsode.client import calls
from rhapsode.client.aio.batches import AsyncBatches
from rhapsode.client.aio.connections import open_pool, send_file
from rhapsode.client.aio.dictionaries import AsyncDictionaries
from rhapsode.client.aio.operations import AsyncKeys, AsyncOperations, AsyncQuotaSettings
from rhapsode.client.aio.planning import make_plan
from rhapsode.client.aio.segments import AsyncSegments
from rhapsode.client.aio.sending import each_of
from rhapsode.client.aio.speaking import AsyncSpeechStream, stream_speech
from rhapsode.client.aio.streaming import StreamType, listen
from rhapsode.client.aio.voices import AsyncVoices
from rhapsode.client.aio.webhooks import AsyncWebhooks
from rhapsode.client.calls import (
    IDEMPOTENCY_KEY,
    ApiCall,
    JobFilter,
    content,
    entries,
    given,
    job_path,
    nothing,
    path_of,
    resource,
)
from rhapsode.client.connection import DEFAULT_SERVER, Connection
from rhapsode.client.downloading import PIECE_BYTES, OnBytes, begin, continues, range_headers
from rhapsode.client.jobs.following import EventCursor, WaitLimit, event_timeout
from rhapsode.client.jobs.plans import PlanOrder
from rhapsode.client.jobs.submission import submission_body
from rhapsode.client.live.orders import AsyncTexts
from rhapsode.client.part_file import PartFile
from rhapsode.client.plain_json import json_object, plain_json
from rhapsode.client.request_options import JobChanges, JobInputFields, JobOptions, RetryOptions, StreamOptions
from rhapsode.client.resources import Job, JobEvent
from rhapsode.client.retries import Attempts, RetryPolicy
from rhapsode.contract.capabilities import Capabilities
from rhapsode.contract.jobs.answer import Artifact, ArtifactList
from rhapsode.contract.jobs.sharing import LONGEST_S, SharedLink
from rhapsode.contract.models import Model, ModelList
from rhapsode.contract.operators.usage import Grouping, UsageReport
from rhapsode.contract.plans import PlanDocument
from rhapsode.contract.uploads import NewUpload, Upload

T = TypeVar("T")

SpeechFormat = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]

SPEECH_PATIENCE_S = 130.0
"""The server gives up after 120 s."""

ARTIFACTS_OF_A_PAGE = 500
UPLOADS = "/v1/uploads"
GROUPINGS: tuple[Grouping, ...] = ("day", "key")


class AsyncRhapsode:
    """A connection pool to one server; for one event loop. Errors: see `rhapsode.errors`."""

    def __init__(
        self,
        server_url: str = DEFAULT_SERVER,
        *,
        api_key: str | None = None,
        timeout_s: float = 30.0,
        retries: RetryPolicy | None = None,
    ) -> None:
        self._connection = Connection(server_url, api_key, timeout_s, retries or RetryPolicy())
        self._http = open_pool(self._connection)
        self.voices = AsyncVoices(self._send)
        self.webhooks = AsyncWebhooks(self._send)
        self.keys = AsyncKeys(self._send)
        self.quotas = AsyncQuotaSettings(self._send)
        self.operations = AsyncOperations(self._send)
        self.dictionaries = AsyncDictionaries(self._send)
        self.segments = AsyncSegments(self._send)
        self.batches = AsyncBatches(self._send, self.upload, self._http, self._connection)

    async def __aenter__(self) -> AsyncRhapsode:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def server_url(self) -> str:
        return self._connection.server_url

    async def close(self) -> None:
        await self._http.aclose()

    async def submit_job(
        self, text: str | JobInputFields, *, idempotency_key: str | None = None, **options: Unpack[JobOptions]
    ) -> Job:
        """Hand in a text, or another input. Returns when the server holds it durably; the speech comes later.

        Repeats of this call after a broken connection are made under one idempotency key, so they are one job.
        Give your own key to make repeats of your program one job too.
        """
        return await self._send(calls.submit_job(text, options, idempotency_key))

    async def create_job(self, job_id: str, text: str | JobInputFields, **options: Unpack[JobOptions]) -> Job:
        """As `submit_job`, under an id of yours: `job_` and a lower-case ULID of today.

        Repeats of your program are the same job. Raises `Conflict` if the id was used for something else.
        """
        body = submission_body(text, options)
        return await self._send(ApiCall("PUT", job_path(job_id), resource(Job), body=body))

    async def job(self, job_id: str) -> Job:
        return await self._send(ApiCall("GET", job_path(job_id), resource(Job)))

    def jobs(self, filters: JobFilter | None = None, *, page_size: int = 50) -> AsyncIterator[Job]:
        """Every matching job, newest first unless the filter says otherwise, fetched page by page."""
        return each_of(self._send, calls.list_jobs(filters or JobFilter(), page_size))

    async def cancel(self, job: Job | str) -> Job:
        return await self._send(_move(job, "cancel"))

    async def pause(self, job: Job | str) -> Job:
        """Begin nothing more of it; what is being spoken is finished and kept."""
        return await self._send(_move(job, "pause"))

    async def resume(self, job: Job | str) -> Job:
        return await self._send(_move(job, "resume"))

    async def change(self, job: Job | str, **changes: Unpack[JobChanges]) -> Job:
        """Priority, deadline, metadata and retention of a job under way. Raises `Conflict` once it has ended.

        Raises `ValueError` for a time without a time zone.
        """
        body = plain_json(changes)
        return await self._send(ApiCall("PATCH", job_path(job), resource(Job), body=body))

    async def retry(self, job: Job | str, **options: Unpack[RetryOptions]) -> Job:
        """Do what a failed, cancelled or expired job lacks. Raises `Conflict` for a job that succeeded."""
        return await self._send(_move(job, "retry", json_object(options)))

    async def assemble(
        self, job: Job | str, output: Mapping[str, JsonValue] | None = None, *, idempotency_key: str | None = None
    ) -> Job:
        """Make the artifacts again without generating speech. output: what changes of the job's, None takes a field
        back.

        Files of before stay as they were, unless one of the same name is made.
        """
        headers = {IDEMPOTENCY_KEY: idempotency_key} if idempotency_key else {}
        return await self._send(replace(_move(job, "assemble", json_object({"output": output})), headers=headers))

    async def delete(self, job: Job | str) -> None:
        """Delete an ended job with everything it stored."""
        await self._send(ApiCall("DELETE", job_path(job), nothing))

    async def wait(self, job: Job | str, *, timeout_s: float | None = None) -> Job:
        """The job once it has ended, in whichever state. Raises `WaitTimedOut`."""
        patience = WaitLimit(timeout_s)
        while True:
            hold_s = patience.next_hold_s()
            held = {"Prefer": f"wait={hold_s}"}
            call = ApiCall("GET", job_path(job), resource(Job), headers=held, hold_s=hold_s)
            seen = await self._send(call)
            if seen.state.is_terminal:
                return seen
            await asyncio.sleep(patience.pause_before_next(seen))

    async def events(self, job: Job | str, *, after: str | None = None) -> AsyncIterator[JobEvent]:
        """The job's events from the first one, or behind the id `after`, until the one that ends it.

        A broken connection is made again behind the last event seen: none is lost or repeated.
        The server keeps the last 500 events of a job or a little more; what is older is summed up by a `job.progress`
        with `events_lost` in its detail. A job that was reopened has ended more than once; the last end counts.
        """
        cursor, attempts = EventCursor(after), self._attempts()
        while not cursor.ended:
            pause_s = 0.0
            try:
                async for event in self._events_of_one_connection(job, cursor, attempts):
                    yield event
            except httpx.RequestError as error:
                pause_s = attempts.pause_after_break(error)
            if not cursor.ended and cursor.brought_nothing:
                seen = await self._send(ApiCall("GET", job_path(job), resource(Job)))
                if seen.state.is_terminal:
                    return
            await asyncio.sleep(pause_s or 0.2)

    async def artifacts(self, job: Job | str) -> tuple[Artifact, ...]:
        """The job's outputs, with new links; behind those that the job itself shows every file of a chapter."""
        path, page = f"{job_path(job)}/artifacts", given(limit=ARTIFACTS_OF_A_PAGE)
        call = ApiCall("GET", path, resource(ArtifactList), params=page)
        return tuple([artifact async for artifact in each_of(self._send, call)])

    async def share(self, job: Job | str, artifact: str | Artifact, *, expires_in_s: int = LONGEST_S) -> SharedLink:
        """A link to a finished file that needs no key. It ends with the job at the latest."""
        name = artifact if isinstance(artifact, str) else artifact.name
        path = f"{calls.artifact_path(job, name)}/share"
        return await self._send(ApiCall("POST", path, resource(SharedLink), body={"expires_in_s": expires_in_s}))

    async def download(
        self, job: Job, artifact: str | Artifact, path: str | Path, *, on_bytes: OnBytes | None = None
    ) -> Path:
        """Fetch an artifact to `path`, which appears only when every byte is there and checked.

        artifact: itself, or its name. An existing file is replaced. A connection that breaks is made again behind the
        last byte. on_bytes: called with the number of bytes. Raises `KeyError` for an unknown name, `DownloadCorrupt`,
        `OSError`.
        """
        expected = await self._artifact(job, artifact) if isinstance(artifact, str) else artifact
        attempts, address = self._attempts(), calls.artifact_path(job, expected.name)
        with PartFile(Path(path)) as part:
            while True:
                try:
                    pause_s = await self._download_once(address, part, attempts, on_bytes)
                except httpx.RequestError as error:
                    pause_s = attempts.pause_after_break(error)
                if pause_s is None:
                    break
                await asyncio.sleep(pause_s)
            await asyncio.to_thread(part.commit, expected)
        return part.path

    async def _artifact(self, job: Job, name: str) -> Artifact:
        """Also a file of a chapter, of which the job itself shows but the list."""
        if any(each.files for each in job.artifacts):
            job = job.model_copy(update={"artifacts": await self.artifacts(job)})
        return job.artifact(name)

    def listen(self, job: Job | str, form: StreamType = "wav") -> AsyncIterator[bytes]:
        """The job's audio from its beginning, as it is made: pieces of one file, until the job ends.

        It ends before a segment that is missing at the job's end. A stream that breaks cannot be continued and raises
        `ServerUnreachable`; listen again. Raises `Conflict` for a job without speech.
        """
        return listen(self._http, self._connection, f"{job_path(job)}/audio", form)

    async def upload(self, path: str | Path) -> Upload:
        """Store a file for a job that names it; the answer's `id` is what to name. It is kept for a day.

        Raises `OSError`, or `InvalidRequest` for a file larger than the server takes.
        """
        attempts, file = self._attempts(), Path(path)
        while True:
            place = await self._send(ApiCall("POST", UPLOADS, resource(NewUpload), body={"bytes": file.stat().st_size}))
            try:
                answer = await send_file(self._connection, place, file)
            except httpx.RequestError as error:
                pause_s = attempts.pause_after_break(error)
            else:
                pause_s = attempts.pause_after_answer(answer)
                if pause_s is None:
                    return place
            await asyncio.sleep(pause_s)

    async def uploaded(self, upload: Upload | str) -> Upload:
        """A file that has arrived. Raises `NotFound` for one that has not, or is gone."""
        return await self._send(ApiCall("GET", path_of(UPLOADS, upload), resource(Upload)))

    async def delete_upload(self, upload: Upload | str) -> None:
        await self._send(ApiCall("DELETE", path_of(UPLOADS, upload), nothing))

    async def plan(self, spoken: str | JobInputFields, **options: Unpack[JobOptions]) -> PlanDocument:
        """How an input would be narrated: nothing is spoken, and no job is left, also by who is cancelled.

        Raises `InvalidRequest` for an input that cannot be narrated.
        """
        return await make_plan(self, self._send, PlanOrder(spoken, options))

    async def usage(
        self,
        first: date | None = None,
        last: date | None = None,
        *,
        group_by: Sequence[Grouping] = GROUPINGS,
        tenant: str | None = None,
    ) -> UsageReport:
        """What was made, by day (UTC, both included) and API key; without days, the last thirty.

        tenant: another's usage, for operators.
        """
        path = "/v1/usage" if tenant is None else f"{path_of('/v1/admin/tenants', tenant)}/usage"
        days = [(name, day.isoformat()) for name, day in (("from", first), ("to", last)) if day is not None]
        params = (*days, *(("group_by", each) for each in group_by))
        return await self._send(ApiCall("GET", path, resource(UsageReport), params=params))

    async def speak(
        self,
        text: str,
        *,
        model: str,
        voice: str,
        form: SpeechFormat = "mp3",
        language: str | None = None,
        instructions: str | None = None,
    ) -> bytes:
        """A short text's audio, waited for: up to 4,096 characters, before all bulk work. Longer ones are jobs.

        form: `pcm` is 16-bit little-endian samples of one channel. Raises `ServerError` if it cannot be done in two
        minutes.
        """
        said = {"input": text, "model": model, "voice": voice, "response_format": form}
        body = json_object({**said, "language": language or None, "instructions": instructions or None})
        headers = {"Accept": "audio/*, application/json"}
        path = "/v1/audio/speech"
        call = ApiCall("POST", path, content, headers=headers, body=body, hold_s=SPEECH_PATIENCE_S)
        return await self._send(call)

    def stream_speech(self, text: AsyncTexts, **options: Unpack[StreamOptions]) -> AsyncSpeechStream:
        """Speech from its first samples on, while it is made: an iterator of 16-bit samples of one channel.

        text: whole, or an iterator over its pieces while it is being written; speech begins after its first words.
        Leave the iterator's `async with` block and it ends at the server too. Before the first samples it raises what
        other calls raise (`RateLimited` where all places are taken); a stream that breaks later raises
        `ServerUnreachable`. Read it as it comes: a server does not wait for a listener who is half a minute behind.
        """
        return stream_speech(self._http, self._connection, text, options)

    async def capabilities(self) -> Capabilities:
        """What the server understands and makes: formats, SSML, languages, limits."""
        return await self._send(ApiCall("GET", "/v1/capabilities", resource(Capabilities)))

    async def model(self, name: str) -> Model:
        """One model of the server's. Raises `NotFound`."""
        return await self._send(ApiCall("GET", path_of("/v1/models", name), resource(Model)))

    async def models(self) -> tuple[Model, ...]:
        """The checkpoints that workers have loaded."""
        return await self._send(ApiCall("GET", "/v1/models", entries(resource(ModelList))))

    async def _send(self, call: ApiCall[T]) -> T:
        attempts, headers = self._attempts(), call.sent_headers()
        while True:
            try:
                response = await self._http.request(
                    call.method,
                    call.path,
                    params=call.params,
                    headers=headers,
                    json=call.body,
                    content=call.content,
                    data=call.upload.fields if call.upload else None,
                    files={call.upload.file_field: ("upload", call.upload.content)} if call.upload else None,
                    timeout=self._connection.timeout(call.hold_s),
                )
            except httpx.RequestError as error:
                pause_s = attempts.pause_after_break(error)
            else:
                pause_s = attempts.pause_after_answer(response)
                if pause_s is None:
                    return call.parse(response)
            await asyncio.sleep(pause_s)

    async def _events_of_one_connection(
        self, job: Job | str, cursor: EventCursor, attempts: Attempts
    ) -> AsyncIterator[JobEvent]:
        async with self._http.stream(
            "GET",
            f"{job_path(job)}/events",
            headers=cursor.connecting(),
            timeout=event_timeout(self._connection.timeout_s),
        ) as response:
            if not response.is_success:
                await response.aread()
                await asyncio.sleep(attempts.pause_after_answer(response) or 0.0)
                return
            async for message in EventSource(response).aiter_sse():
                event = cursor.take(message)
                if event is not None:
                    attempts.reset()
                    yield event

    async def _download_once(
        self, path: str, part: PartFile, attempts: Attempts, on_bytes: OnBytes | None
    ) -> float | None:
        timeout = self._connection.timeout(0.0)
        async with self._http.stream("GET", path, headers=range_headers(part), timeout=timeout) as response:
            if continues(part, response):
                attempts.reset()
            if not begin(part, response):
                return 0.0
            if not response.is_success:
                await response.aread()
                return attempts.pause_after_answer(response)
            async for data in response.aiter_bytes(PIECE_BYTES):
                await asyncio.to_thread(part.write, data)
                if on_bytes is not None:
                    on_bytes(part.num_bytes)
        return None

    def _attempts(self) -> Attempts:
        return Attempts(self._connection.retries, self._connection.server_url)


def _move(job: Job | str, name: str, body: JsonValue = None) -> ApiCall[Job]:
    return ApiCall("POST", f"{job_path(job)}/{name}", resource(Job), body=body)
