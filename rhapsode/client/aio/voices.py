"""`client.voices`: voices to speak with, and their caches.

ada = await client.voices.add("Ada", "ada.wav", consent="I am the speaker", ref_text="Hello, I am Ada.")
await client.submit_job("The wind and the sun were disputing.", voice="Ada")
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rhapsode.client.aio.sending import AsyncSend, each_of
from rhapsode.client.calls import (
    IDEMPOTENCY_KEY,
    ApiCall,
    FormUpload,
    content,
    entries,
    given,
    nothing,
    path_of,
    resource,
)
from rhapsode.client.plain_json import json_object
from rhapsode.client.resources import Job
from rhapsode.client.voices.naming import only_match, own_id, path_name
from rhapsode.client.voices.orders import Blend, BulkOrder, Preview, VoiceKind
from rhapsode.contract.voices.caches import Mode, ShownState, VoiceCache, VoiceCacheList
from rhapsode.contract.voices.voices import Voice, VoiceList

VOICES = "/v1/voices"
CACHES = "/v1/voice-caches"

DECODING_S = 30.0
"""The server decodes the whole recording before it answers."""

AS_FILE = {"Accept": "application/octet-stream"}


class AsyncVoices:
    """Where a voice is named, its record, its id (voc_...) or its name will do."""

    def __init__(self, send: AsyncSend) -> None:
        self._send = send

    async def add(
        self,
        name: str,
        recording: str | Path,
        *,
        consent: str,
        ref_text: str = "",
        language: str = "auto",
        description: str = "",
    ) -> Voice:
        """Upload a recording (wav, flac, mp3 or ogg; 1 to 60 s; at most 10 MiB) as a new voice.

        consent: the statement that the speaker agrees, kept with its time. ref_text:
        what the recording says; with it the voice is cloned in context. Raises `InvalidRequest` with the reason if the
        recording cannot become a voice, `Conflict` if the name is taken, `OSError`.
        """
        said = {"name": name, "ref_text": ref_text, "language": language, **_consent(consent)}
        file = Path(recording)
        data = await asyncio.to_thread(file.read_bytes)
        upload = FormUpload({**said, "description": description}, "audio_sample", data)
        return await self._send(ApiCall("POST", VOICES, resource(Voice), upload=upload, hold_s=DECODING_S))

    async def add_embedding(
        self, name: str, embedding: bytes, *, consent: str, model: str | None = None, description: str = ""
    ) -> Voice:
        """A voice from a speaker embedding: little-endian float32, or what `embedding` returned."""
        said = {"name": name, "description": description, **_consent(consent)} | ({"model": model} if model else {})
        upload = FormUpload(said, "speaker_embedding", embedding)
        return await self._send(ApiCall("POST", VOICES, resource(Voice), upload=upload))

    async def get(self, voice: str) -> Voice:
        """Raises `NotFound`, or `Gone` for one that was deleted."""
        if voice.startswith("voc_"):
            return await self._send(ApiCall("GET", path_of(VOICES, voice), resource(Voice)))
        found = await self._send(ApiCall("GET", VOICES, resource(VoiceList), params=(("name", voice),)))
        return only_match(voice, found.data)

    def list(self, kind: VoiceKind | None = None, *, page_size: int = 50) -> AsyncIterator[Voice]:
        """The models' own voices, then those that were uploaded, newest first, fetched page by page."""
        return each_of(
            self._send, ApiCall("GET", VOICES, resource(VoiceList), params=given(limit=page_size, kind=kind))
        )

    async def change(
        self,
        voice: Voice | str,
        *,
        name: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Voice:
        """What is None stays as it is."""
        body = json_object({"name": name, "description": description, "metadata": metadata})
        return await self._send(ApiCall("PATCH", await self._path(voice), resource(Voice), body=body))

    async def replace_recording(
        self, voice: Voice | str, recording: str | Path, *, consent: str, ref_text: str = ""
    ) -> Voice:
        """Another recording under the same id; what was cached of the old one is dropped."""
        path, file = await self._path(voice), Path(recording)
        data = await asyncio.to_thread(file.read_bytes)
        upload = FormUpload({"ref_text": ref_text, **_consent(consent)}, "audio_sample", data)
        return await self._send(ApiCall("PUT", f"{path}/sample", resource(Voice), upload=upload, hold_s=DECODING_S))

    async def delete(self, voice: Voice | str) -> None:
        """With its recording and its caches."""
        await self._send(ApiCall("DELETE", await self._path(voice), nothing))

    async def sample(self, voice: Voice | str) -> bytes:
        """What was uploaded, byte by byte."""
        path = f"{await self._path(voice)}/sample"
        return await self._send(ApiCall("GET", path, content, headers=AS_FILE))

    async def embedding(self, voice: Voice | str, model: str | None = None) -> bytes:
        """The speaker's embedding as a safetensors file, which `add_embedding` takes back. Needs a ready cache."""
        path = f"{await self._path(voice)}/embedding"
        return await self._send(ApiCall("GET", path, content, params=given(model=model), headers=AS_FILE))

    async def preview(self, voice: Voice | str, preview: Preview | None = None) -> Job:
        """Have any voice say a sentence: a job like any other, whose speech is `narration.wav`."""
        if isinstance(voice, str) and not voice.startswith("voc_"):
            voice = await self.get(voice)
        path, body = f"{path_of(VOICES, path_name(voice))}/preview", json_object(asdict(preview or Preview()))
        return await self._send(ApiCall("POST", path, resource(Job), body=body))

    async def blend(self, blend: Blend) -> Voice:
        """A new voice between others, which speaks from its embedding. All of them need one: see `prepare`."""
        return await self._send(ApiCall("POST", f"{VOICES}/blend", resource(Voice), body=blend.body()))

    async def prepare(
        self, voice: Voice | str, *, models: Sequence[str] = (), mode: Mode | None = None, force: bool = False
    ) -> tuple[VoiceCache, ...]:
        """Have the voice made ready, for all models that clone or for these; returns its caches as they are now.

        force: rebuild ready ones too; the old version is served until then.
        """
        path, body = await self._path(voice), json_object({"force": force, "models": models or None, "mode": mode})
        return await self._send(ApiCall("POST", f"{path}/cache", entries(resource(VoiceCacheList)), body=body))

    async def prepare_many(self, order: BulkOrder, *, idempotency_key: str | None = None) -> Job:
        """Have many voices made ready: a job whose segments are voices, to be watched and cancelled like any other."""
        headers = {IDEMPOTENCY_KEY: idempotency_key} if idempotency_key else {}
        return await self._send(ApiCall("POST", CACHES, resource(Job), headers=headers, body=order.body()))

    async def caches(self, voice: Voice | str) -> tuple[VoiceCache, ...]:
        """One for each requested model and mode."""
        path = f"{await self._path(voice)}/cache"
        return await self._send(ApiCall("GET", path, entries(resource(VoiceCacheList))))

    async def drop_caches(self, voice: Voice | str, *, model: str | None = None, mode: Mode | None = None) -> None:
        """All of the voice's caches, or those of one model or mode."""
        path = f"{await self._path(voice)}/cache"
        await self._send(ApiCall("DELETE", path, nothing, params=given(model=model, mode=mode)))

    def list_caches(
        self, states: Collection[ShownState] = (), *, model: str | None = None, page_size: int = 100
    ) -> AsyncIterator[VoiceCache]:
        """The caches of all voices, those in these states; fetched page by page."""
        params = (*(("state", state) for state in sorted(set(states))), *given(limit=page_size, model=model))
        return each_of(self._send, ApiCall("GET", CACHES, resource(VoiceCacheList), params=params))

    async def _path(self, voice: Voice | str) -> str:
        if isinstance(voice, str) and not voice.startswith("voc_"):
            voice = await self.get(voice)
        return path_of(VOICES, own_id(voice))


def _consent(said: str) -> dict[str, str]:
    """Empty: the operator stated it for all."""
    return {"consent": said} if said else {}
