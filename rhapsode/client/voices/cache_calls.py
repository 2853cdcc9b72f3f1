"""Every request about caches of voices as a value. No I/O: both clients send these."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from rhapsode.client.calls import ApiCall, nothing, resource
from rhapsode.client.plain_json import json_object
from rhapsode.client.resources import Job
from rhapsode.client.voices.calls import voice_path
from rhapsode.contract.voices.caches import Mode, ShownState, VoiceCache, VoiceCacheList


@dataclass(frozen=True, slots=True)
class CacheBuild:
    """How a voice is to be made ready. models: empty for all that clone. force: rebuild ready ones too."""

    models: Sequence[str] = ()
    mode: Mode | None = None
    force: bool = False

    def body(self) -> dict[str, JsonValue]:
        return json_object({"force": self.force, "models": self.models or None, "mode": self.mode})


@dataclass(frozen=True, slots=True)
class Manifest:
    """New voices: the id of an upload that lists them, whose `audio` column holds ids of uploads. See `client.upload`.

    consent: the statement for lines that have none.
    """

    upload_id: str
    format: Literal["jsonl", "csv"] = "jsonl"
    consent: str = ""

    def body(self) -> dict[str, JsonValue]:
        return json_object({"upload_id": self.upload_id, "format": self.format, "consent": self.consent or None})


@dataclass(frozen=True, slots=True)
class BulkOrder:
    """Which voices are to be made ready, and how.

    voices: ids or names; None for those of `manifest`, or every one of the caller's whose caches are in `state`.
    model: may be left out where only one clones.
    """

    voices: Sequence[str] | None = None
    state: ShownState | None = None
    model: str | None = None
    mode: Mode | None = None
    force: bool = False
    priority: Literal["high", "normal", "low"] = "low"
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    manifest: Manifest | None = None

    def body(self) -> dict[str, JsonValue]:
        how = {"model": self.model, "mode": self.mode, "force": self.force}
        return json_object({**how, "priority": self.priority, "metadata": self.metadata, **self._which()})

    def _which(self) -> dict[str, object]:
        if self.voices is not None:
            return {"voices": self.voices}
        if self.manifest is not None:
            return {"manifest": self.manifest.body()}
        return {"filter": json_object({"state": self.state})}


def order_caches(voice: str, order: CacheBuild) -> ApiCall[tuple[VoiceCache, ...]]:
    return _caches(ApiCall("POST", _path(voice), resource(VoiceCacheList), body=order.body()))


def get_caches(voice: str) -> ApiCall[tuple[VoiceCache, ...]]:
    return _caches(ApiCall("GET", _path(voice), resource(VoiceCacheList)))


def drop_caches(voice: str, model: str | None, mode: Mode | None) -> ApiCall[None]:
    params = tuple((name, value) for name, value in (("model", model), ("mode", mode)) if value)
    return ApiCall("DELETE", _path(voice), nothing, params=params)


def order_many_caches(order: BulkOrder, idempotency_key: str | None) -> ApiCall[Job]:
    key = idempotency_key or str(uuid.uuid4())
    return ApiCall("POST", "/v1/voice-caches", resource(Job), headers={"Idempotency-Key": key}, body=order.body())


def list_caches(
    states: frozenset[ShownState], model: str | None, page_size: int, cursor: str | None
) -> ApiCall[VoiceCacheList]:
    params = [("state", state) for state in sorted(states)] + [("limit", str(page_size))]
    params += [("model", model)] if model else []
    params += [("cursor", cursor)] if cursor else []
    return ApiCall("GET", "/v1/voice-caches", resource(VoiceCacheList), params=tuple(params))


def _caches(call: ApiCall[VoiceCacheList]) -> ApiCall[tuple[VoiceCache, ...]]:
    return ApiCall(call.method, call.path, lambda response: call.parse(response).data, body=call.body)


def _path(voice: str) -> str:
    return f"{voice_path(voice)}/cache"
