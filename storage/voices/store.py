"""Every voice and every cache, in Redis: one method is one function, and the only way their state changes.

A call that ends in `StoreUnavailable` may have taken effect. Each is idempotent for its own arguments, so the caller
repeats it and is answered as if the first answer had arrived.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn, cast

import redis

from rhapsode.contract.voices.modes import CacheMode
from rhapsode.contract.voices.names import name_key
from storage.database.functions import Functions, Reply
from storage.database.hashes import read_hashes
from storage.database.keys import VoiceKeys
from storage.database.pages import CHUNK, ListPage, scanned_page
from storage.errors import BuildRefused, VoiceChanged, VoiceGone, VoiceNameTaken, VoiceNotFound
from storage.ids import ContentKey, JobId, TenantId, VoiceId
from storage.jobs.record import JobError
from storage.jobs.work_items import Lease
from storage.objects import keys
from storage.voices.record_codec import (
    changed_fields,
    created_fields,
    decode_artifact_fields,
    decode_cache,
    decode_error,
    decode_voice,
    source_fields,
    target_name,
)
from storage.voices.records import (
    BuildClaim,
    CacheArtifact,
    CacheRequest,
    ClaimStatus,
    NewRecording,
    RequestOutcome,
    VoiceCacheRecord,
    VoiceCreation,
    VoiceRecord,
    VoiceUpdate,
)

TOMBSTONE_TTL_S = 7 * 24 * 3600
MAX_VOICES = 100_000
"""Of one tenant: each takes about a kilobyte of Redis."""

REQUEST_CHUNK = 100
"""Caches asked for in one call: Redis does nothing else for about so many times 30 microseconds."""

LIST_SCAN_LIMIT = 2_000
"""Caches one `list_caches` call looks at before it hands the cursor back."""


class VoiceStore:
    """Safe to share between threads, as the client is.

    max_voices: for tenants without their own limit.
    """

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode", max_voices: int = MAX_VOICES) -> None:
        self._redis = redis
        self._keys = VoiceKeys(key_prefix)
        self._max_voices = max_voices
        self._call = Functions(redis, key_prefix).call

    # Voices

    def create(self, voice: VoiceCreation) -> VoiceRecord:
        """Raises `VoiceNameTaken`, or `QuotaExceeded` when the tenant has as many voices as it may."""
        reply = self._call(
            "voice_create",
            voice=voice.id,
            tenant=voice.tenant,
            name=name_key(voice.name),
            most_voices=self._max_voices,
            fields=created_fields(voice),
        )
        match reply.status:
            case "taken":
                raise VoiceNameTaken(voice.name, reply.text("voice"))
            case "refused":
                raise reply.refusal()
            case _:
                return _voice(reply)

    def get(self, tenant: TenantId, voice: VoiceId) -> VoiceRecord:
        """Raises `VoiceNotFound` (also for another tenant's voice) or `VoiceGone`."""
        fields = cast("dict[str, str]", self._redis.hgetall(self._keys.of("voice", voice)))
        if fields.get("tenant") != tenant:
            self._raise_missing(tenant, voice)
        return decode_voice(fields)

    def get_many(self, tenant: TenantId, voices: Sequence[VoiceId]) -> builtins.list[VoiceRecord | None]:
        """One record, or None, for each id."""
        found: list[VoiceRecord | None] = []
        for start in range(0, len(voices), CHUNK):
            rows = read_hashes(self._redis, (self._keys.of("voice", each) for each in voices[start : start + CHUNK]))
            found += [decode_voice(row) if row.get("tenant") == tenant else None for row in rows]
        return found

    def find(self, tenant: TenantId, name: str) -> VoiceRecord | None:
        """The tenant's voice of this name, in whatever case."""
        voice = cast("str | None", self._redis.hget(self._keys.of("names", tenant), name_key(name)))
        return None if voice is None else self.get_many(tenant, [VoiceId(voice)])[0]

    def list(self, tenant: TenantId, after: VoiceId | None, limit: int) -> ListPage[VoiceId, VoiceRecord]:
        """The newest first; the next page comes after the last voice of this one."""
        bound = f"({after}" if after else "+"
        ids = self._redis.zrevrangebylex(self._keys.of("voices", tenant), bound, "-", start=0, num=limit + 1)
        wanted = cast("list[VoiceId]", ids)
        records = self.get_many(tenant, wanted[:limit])
        # One may have been deleted meanwhile.
        return ListPage(tuple(filter(None, records)), wanted[limit - 1] if len(wanted) > limit else None)

    def update(self, tenant: TenantId, voice: VoiceId, changes: VoiceUpdate) -> VoiceRecord:
        """Raises `VoiceNotFound`, `VoiceGone` or `VoiceNameTaken`."""
        name = "" if changes.name is None else name_key(changes.name)
        reply = self._call("voice_update", voice=voice, tenant=tenant, name=name, fields=changed_fields(changes))
        if reply.status == "missing":
            self._raise_missing(tenant, voice)
        if reply.status == "taken":
            raise VoiceNameTaken(changes.name or "", reply.text("voice"))
        return _voice(reply)

    def replace(self, tenant: TenantId, voice: VoiceId, recording: NewRecording) -> VoiceRecord:
        """Another recording under the same id; every cache of the old one is dropped.

        Raises `VoiceNotFound`, `VoiceGone`, or `VoiceChanged` when another caller was faster.
        """
        reply = self._call(
            "voice_replace",
            voice=voice,
            tenant=tenant,
            revision=recording.revision,
            source=recording.source.key,
            fields=source_fields(recording.source, recording.ref_text, recording.consent),
        )
        if reply.status == "missing":
            self._raise_missing(tenant, voice)
        if reply.status == "moved":
            raise VoiceChanged(f"{voice} is at revision {reply.text('revision')}, not {recording.revision}")
        return _voice(reply)

    def delete(self, tenant: TenantId, voice: VoiceId) -> None:
        """Forget the voice and its caches; its id answers `VoiceGone` for a week. Repeating it is no error.

        Builds under way find their content gone and are refused: nothing brings it back.
        """
        reply = self._call("voice_delete", voice=voice, tenant=tenant, tombstone_ttl_s=TOMBSTONE_TTL_S)
        if reply.status == "missing":
            self._raise_missing(tenant, voice)

    # Caches

    def request_caches(
        self, tenant: TenantId, job: JobId, wanted: Sequence[CacheRequest], *, rebuild: bool = False
    ) -> builtins.list[RequestOutcome]:
        """Ask for caches that `job` will see to; one outcome each.

        rebuild: build those again that are ready; they are served until then.
        """
        outcomes: list[RequestOutcome] = []
        for start in range(0, len(wanted), REQUEST_CHUNK):
            caches = [_request_arguments(each) for each in wanted[start : start + REQUEST_CHUNK]]
            reply = self._call("voice_cache_request", tenant=tenant, job=job, rebuild=rebuild, caches=caches)
            outcomes += [RequestOutcome(state) for state in reply.texts("states")]
        return outcomes

    def forget_caches(self, tenant: TenantId, voice: VoiceId, targets: Sequence[tuple[CacheMode, str]] = ()) -> int:
        """Drop the voice's caches, all or those of these (mode, model); returns how many there were."""
        caches = [f"{mode}|{model}" for mode, model in targets]
        reply = self._call("voice_cache_forget", tenant=tenant, voice=voice, caches=caches)
        if reply.status == "missing":
            self._raise_missing(tenant, voice)
        return reply.number("count")

    def caches(self, tenant: TenantId, voice: VoiceId) -> builtins.list[VoiceCacheRecord]:
        """Every cache of the voice, by model and mode. Raises `VoiceNotFound` or `VoiceGone`."""
        self.get(tenant, voice)
        fields = cast("list[str]", self._redis.hkeys(self._keys.of("caches", voice)))
        found = self._read_caches(tenant, [f"{voice}|{field}" for field in fields])
        return sorted(found, key=lambda cache: (cache.target.model, cache.target.mode))

    def list_caches(
        self, tenant: TenantId, is_wanted: Callable[[VoiceCacheRecord], bool], after: str | None, limit: int
    ) -> ListPage[str, VoiceCacheRecord]:
        """One page of the tenant's caches in the order of their voices.

        Looks at `LIST_SCAN_LIMIT` caches at most: a page that the filter left short may still have successors.
        """
        return scanned_page(self._cache_chunks(tenant, is_wanted, after), limit)

    # Builds

    def find_artifact(self, tenant: TenantId, content: ContentKey) -> CacheArtifact | None:
        """The version that is served, whatever is being done about another one."""
        names = ["tenant", "version", "sha256", "bytes"]
        values = cast("list[str | None]", self._redis.hmget(self._keys.of("build", content), names))
        if values[0] != tenant:
            return None
        return decode_artifact_fields(tenant, content, dict(zip(names, values, strict=True)))

    def claim_build(self, content: ContentKey, lease: Lease) -> BuildClaim:
        """Take the build under the lease of the item that needs it; it ends with this lease and needs no other."""
        return _claim(content, lease, self._call("voice_build_claim", content=content, lease=_lease_name(lease)))

    def reject_version(self, content: ContentKey, lease: Lease, fence: int) -> BuildClaim:
        """The served version of this fence is damaged or missing: what its finder is to do.

        It is dropped, and the worker that found it builds it again. If its successor is damaged too, the cache fails.
        If another version is served meanwhile, the answer is as `claim_build`'s.
        """
        reply = self._call("voice_build_reject", content=content, lease=_lease_name(lease), version=fence)
        return _claim(content, lease, reply)

    def commit_build(self, content: ContentKey, lease: Lease, artifact: CacheArtifact, build_ms: int) -> None:
        """The artifact lies in the store under the lease's fence: serve it. Raises `BuildRefused`."""
        if artifact.fence != lease.fence:
            raise ValueError(f"an artifact of fence {artifact.fence} under lease {lease.fence}")
        reply = self._call(
            "voice_build_commit",
            content=content,
            lease=_lease_name(lease),
            fence=lease.fence,
            sha256=artifact.sha256,
            bytes=artifact.bytes,
            build_ms=build_ms,
        )
        _check_build(content, reply)

    def fail_build(self, content: ContentKey, lease: Lease, error: JobError) -> None:
        """No further attempt can help; what was served before still is. Raises `BuildRefused`."""
        said = {"code": error.code, "detail": error.detail}
        _check_build(content, self._call("voice_build_fail", content=content, lease=_lease_name(lease), **said))

    # Objects that no record points at

    def discarded(self, limit: int = 500) -> dict[str, str]:
        """Objects that may be deleted now: a name for `forget_discarded` -> the object's key."""
        seconds, microseconds = self._redis.time()
        now_ms = seconds * 1000 + microseconds // 1000
        members = self._redis.zrangebyscore(self._keys.single("garbage"), "-inf", now_ms, start=0, num=limit)
        return {member: _object_key(member) for member in cast("list[str]", members)}

    def forget_discarded(self, names: Sequence[str]) -> None:
        """After the objects have been deleted."""
        if names:
            self._redis.zrem(self._keys.single("garbage"), *names)

    def _cache_chunks(
        self, tenant: TenantId, is_wanted: Callable[[VoiceCacheRecord], bool], after: str | None
    ) -> Iterator[builtins.list[tuple[str, VoiceCacheRecord | None]]]:
        for _ in range(LIST_SCAN_LIMIT // CHUNK):
            bound = f"({after}" if after else "-"
            names = cast(
                "list[str]",
                self._redis.zrangebylex(self._keys.of("cache_list", tenant), bound, "+", start=0, num=CHUNK),
            )
            found = {target_name(cache.target): cache for cache in self._read_caches(tenant, names) if is_wanted(cache)}
            yield [(name, found.get(name)) for name in names]
            after = names[-1]

    def _read_caches(self, tenant: TenantId, names: Sequence[str]) -> builtins.list[VoiceCacheRecord]:
        if not names:
            return []
        rows = self._call("voice_cache_read", tenant=tenant, names=names).rows("caches")
        return [
            decode_cache(str(row["name"]), str(row["content"]), cast("dict[str, str]", row["record"])) for row in rows
        ]

    def _raise_missing(self, tenant: TenantId, voice: VoiceId) -> NoReturn:
        tombstone = cast("str | None", self._redis.get(self._keys.of("gone", voice)))
        if tombstone == tenant:
            raise VoiceGone(f"{voice} was deleted")
        raise VoiceNotFound(f"there is no voice {voice}")


def _request_arguments(wanted: CacheRequest) -> dict[str, str | int]:
    return {
        "content": wanted.content,
        "voice": wanted.target.voice,
        "revision": wanted.revision,
        "mode": wanted.target.mode,
        "model": wanted.target.model,
        "model_revision": wanted.model_revision,
    }


def _lease_name(lease: Lease) -> str:
    return f"{lease.job}|{lease.item}|{lease.fence}"


def _claim(content: ContentKey, lease: Lease, reply: Reply) -> BuildClaim:
    match ClaimStatus(reply.status):
        case ClaimStatus.READY:
            fields = {name: reply.text(name) for name in ("version", "sha256", "bytes")}
            return BuildClaim(ClaimStatus.READY, decode_artifact_fields(lease.tenant, content, fields))
        case ClaimStatus.FAILED:
            return BuildClaim(ClaimStatus.FAILED, error=decode_error(reply.text("error")))
        case status:
            return BuildClaim(status)


def _check_build(content: ContentKey, reply: Reply) -> None:
    if reply.status == "gone":
        raise BuildRefused(f"the cache {content} is not wanted any more")
    if reply.status == "lost":
        raise BuildRefused(f"the build of {content} is not this lease's")


def _object_key(member: str) -> str:
    kind, _, rest = member.partition("|")
    if kind == "k":
        return rest
    tenant, content, fence = rest.split("|")
    return keys.voice_cache(TenantId(tenant), ContentKey(content), int(fence))


def _voice(reply: Reply) -> VoiceRecord:
    return decode_voice(reply.hash("record"))
