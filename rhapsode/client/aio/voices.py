"""`client.voices`: voices to speak with, and their caches.

ada = await client.voices.add("Ada", "ada.wav", consent="I am the speaker", ref_text="Hello, I am Ada.")
await client.submit_job("The wind and the sun were disputing.", voice="Ada")
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path

from rhapsode.client.aio.sending import AsyncSend, each_of
from rhapsode.client.resources import Job
from rhapsode.client.voices import cache_calls as voice_cache_calls
from rhapsode.client.voices import calls as voice_calls
from rhapsode.client.voices.cache_calls import BulkOrder, CacheBuild
from rhapsode.client.voices.calls import Blend, NewVoiceFields, Preview, VoiceFields, VoiceKind
from rhapsode.client.voices.naming import only_match, own_id, path_name
from rhapsode.contract.voices.caches import Mode, ShownState, VoiceCache
from rhapsode.contract.voices.voices import Voice


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
        voice = NewVoiceFields(name, consent, ref_text, language, description)
        return await self._send(await asyncio.to_thread(voice_calls.add_voice, voice, Path(recording)))

    async def add_embedding(
        self, name: str, embedding: bytes, *, consent: str, model: str | None = None, description: str = ""
    ) -> Voice:
        """A voice from a speaker embedding: little-endian float32, or what `embedding` returned."""
        voice = NewVoiceFields(name, consent, description=description)
        return await self._send(voice_calls.add_embedding(voice, embedding, model))

    async def get(self, voice: str) -> Voice:
        """Raises `NotFound`, or `Gone` for one that was deleted."""
        if voice.startswith("voc_"):
            return await self._send(voice_calls.get_voice(voice))
        found = await self._send(voice_calls.find_voice(voice))
        return only_match(voice, found.data)

    def list(self, kind: VoiceKind | None = None, *, page_size: int = 50) -> AsyncIterator[Voice]:
        """The models' own voices, then those that were uploaded, newest first, fetched page by page."""
        return each_of(self._send, lambda cursor: voice_calls.list_voices(kind, page_size, cursor))

    async def change(
        self,
        voice: Voice | str,
        *,
        name: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Voice:
        """What is None stays as it is."""
        changes = VoiceFields(name, description, metadata)
        return await self._send(voice_calls.change_voice(await self._id(voice), changes))

    async def replace_recording(
        self, voice: Voice | str, recording: str | Path, *, consent: str, ref_text: str = ""
    ) -> Voice:
        """Another recording under the same id; what was cached of the old one is dropped."""
        own = await self._id(voice)
        call = await asyncio.to_thread(voice_calls.replace_recording, own, Path(recording), ref_text, consent)
        return await self._send(call)

    async def delete(self, voice: Voice | str) -> None:
        """With its recording and its caches."""
        await self._send(voice_calls.delete_voice(await self._id(voice)))

    async def sample(self, voice: Voice | str) -> bytes:
        """What was uploaded, byte by byte."""
        return await self._send(voice_calls.get_sample(await self._id(voice)))

    async def embedding(self, voice: Voice | str, model: str | None = None) -> bytes:
        """The speaker's embedding as a safetensors file, which `add_embedding` takes back. Needs a ready cache."""
        return await self._send(voice_calls.get_embedding(await self._id(voice), model))

    async def preview(self, voice: Voice | str, preview: Preview | None = None) -> Job:
        """Have any voice say a sentence: a job like any other, whose speech is `narration.wav`."""
        if isinstance(voice, str) and not voice.startswith("voc_"):
            voice = await self.get(voice)
        return await self._send(voice_calls.preview_voice(path_name(voice), preview or Preview(), str(uuid.uuid4())))

    async def blend(self, blend: Blend) -> Voice:
        """A new voice between others, which speaks from its embedding. All of them need one: see `prepare`."""
        return await self._send(voice_calls.blend_voices(blend))

    async def prepare(
        self, voice: Voice | str, *, models: Sequence[str] = (), mode: Mode | None = None, force: bool = False
    ) -> tuple[VoiceCache, ...]:
        """Have the voice made ready, for all models that clone or for these; returns its caches as they are now.

        force: rebuild ready ones too; the old version is served until then.
        """
        return await self._send(voice_cache_calls.order_caches(await self._id(voice), CacheBuild(models, mode, force)))

    async def prepare_many(self, order: BulkOrder, *, idempotency_key: str | None = None) -> Job:
        """Have many voices made ready: a job whose segments are voices, to be watched and cancelled like any other."""
        return await self._send(voice_cache_calls.order_many_caches(order, idempotency_key))

    async def caches(self, voice: Voice | str) -> tuple[VoiceCache, ...]:
        """One for each requested model and mode."""
        return await self._send(voice_cache_calls.get_caches(await self._id(voice)))

    async def drop_caches(self, voice: Voice | str, *, model: str | None = None, mode: Mode | None = None) -> None:
        """All of the voice's caches, or those of one model or mode."""
        await self._send(voice_cache_calls.drop_caches(await self._id(voice), model, mode))

    def list_caches(
        self, states: Collection[ShownState] = (), *, model: str | None = None, page_size: int = 100
    ) -> AsyncIterator[VoiceCache]:
        """The caches of all voices, those in these states; fetched page by page."""
        wanted = frozenset(states)
        return each_of(self._send, lambda cursor: voice_cache_calls.list_caches(wanted, model, page_size, cursor))

    async def _id(self, voice: Voice | str) -> str:
        if isinstance(voice, str) and not voice.startswith("voc_"):
            voice = await self.get(voice)
        return own_id(voice)
