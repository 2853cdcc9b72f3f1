"""`client.voices` of the asyncio client: the calls of `rhapsode.client.voices.voices`, awaited; see there."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from rhapsode.client.calls import Call
from rhapsode.client.resources import Job
from rhapsode.client.voices import cache_calls as voice_cache_calls
from rhapsode.client.voices import calls as voice_calls
from rhapsode.client.voices.cache_calls import BulkOrder, CacheOrder
from rhapsode.client.voices.calls import Blend, NewVoice, Preview, VoiceChanges, VoiceKind
from rhapsode.client.voices.voices import only_match, own_id, path_name
from rhapsode.contract.voices.caches import Mode, ShownState, VoiceCache
from rhapsode.contract.voices.voices import Voice

T = TypeVar("T")


class AsyncSend(Protocol):
    async def __call__(self, call: Call[T]) -> T: ...


class AsyncVoices:
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
        voice = NewVoice(name, consent, ref_text, language, description)
        return await self._send(await asyncio.to_thread(voice_calls.add_voice, voice, Path(recording)))

    async def add_embedding(
        self, name: str, embedding: bytes, *, consent: str, model: str | None = None, description: str = ""
    ) -> Voice:
        voice = NewVoice(name, consent, description=description)
        return await self._send(voice_calls.add_embedding(voice, embedding, model))

    async def get(self, voice: str) -> Voice:
        if voice.startswith("voc_"):
            return await self._send(voice_calls.get_voice(voice))
        return only_match(voice, (await self._send(voice_calls.find_voice(voice))).data)

    async def list(self, kind: VoiceKind | None = None, *, page_size: int = 50) -> AsyncIterator[Voice]:
        cursor: str | None = None
        while True:
            page = await self._send(voice_calls.list_voices(kind, page_size, cursor))
            for voice in page.data:
                yield voice
            cursor = page.next_cursor
            if cursor is None or not page.has_more:
                return

    async def change(
        self,
        voice: Voice | str,
        *,
        name: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Voice:
        changes = VoiceChanges(name, description, metadata)
        return await self._send(voice_calls.change_voice(await self._id(voice), changes))

    async def replace_recording(
        self, voice: Voice | str, recording: str | Path, *, consent: str, ref_text: str = ""
    ) -> Voice:
        own = await self._id(voice)
        call = await asyncio.to_thread(voice_calls.replace_recording, own, Path(recording), ref_text, consent)
        return await self._send(call)

    async def delete(self, voice: Voice | str) -> None:
        await self._send(voice_calls.delete_voice(await self._id(voice)))

    async def sample(self, voice: Voice | str) -> bytes:
        return await self._send(voice_calls.get_sample(await self._id(voice)))

    async def embedding(self, voice: Voice | str, model: str | None = None) -> bytes:
        return await self._send(voice_calls.get_embedding(await self._id(voice), model))

    async def preview(self, voice: Voice | str, preview: Preview | None = None) -> Job:
        if isinstance(voice, str) and not voice.startswith("voc_"):
            voice = await self.get(voice)
        return await self._send(voice_calls.preview_voice(path_name(voice), preview or Preview(), str(uuid.uuid4())))

    async def blend(self, blend: Blend) -> Voice:
        return await self._send(voice_calls.blend_voices(blend))

    async def prepare(
        self, voice: Voice | str, *, models: Sequence[str] = (), mode: Mode | None = None, force: bool = False
    ) -> tuple[VoiceCache, ...]:
        return await self._send(voice_cache_calls.order_caches(await self._id(voice), CacheOrder(models, mode, force)))

    async def prepare_many(self, order: BulkOrder, *, idempotency_key: str | None = None) -> Job:
        return await self._send(voice_cache_calls.order_many_caches(order, idempotency_key))

    async def caches(self, voice: Voice | str) -> tuple[VoiceCache, ...]:
        return await self._send(voice_cache_calls.get_caches(await self._id(voice)))

    async def drop_caches(self, voice: Voice | str, *, model: str | None = None, mode: Mode | None = None) -> None:
        await self._send(voice_cache_calls.drop_caches(await self._id(voice), model, mode))

    async def list_caches(
        self, states: Collection[ShownState] = (), *, model: str | None = None, page_size: int = 100
    ) -> AsyncIterator[VoiceCache]:
        cursor: str | None = None
        while True:
            page = await self._send(voice_cache_calls.list_caches(frozenset(states), model, page_size, cursor))
            for cache in page.data:
                yield cache
            cursor = page.next_cursor
            if cursor is None or not page.has_more:
                return

    async def _id(self, voice: Voice | str) -> str:
        if isinstance(voice, str) and not voice.startswith("voc_"):
            voice = await self.get(voice)
        return own_id(voice)
