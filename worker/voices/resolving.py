"""A voice that a job names, as the engine wants it: from memory, from the store, or made from what was uploaded.

What is made under the record of a cache is stored for all workers. The rest is made for this worker alone: while
another worker is building the same cache, and for a request that replaces the voice's own reference text.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from rhapsode.contract.voices.modes import IfCacheMissing
from storage.audio.recordings import DecodedRecording, decode_recording
from storage.errors import ArtifactMissing, BuildRefused, StoreUnavailable
from storage.ids import ContentKey, TenantId
from storage.narration.voice_reference import VoiceReference
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.runtime.config.failpoints import failpoint
from storage.voices.cache_file import ArtifactFormatError, ArtifactUnknown, decode_artifact, encode_artifact
from storage.voices.records import BuildClaim, CacheArtifact, ClaimStatus
from storage.voices.store import VoiceStore
from worker.engine.cores import usable_cores
from worker.engine.interface import Engine, VoicePrompt
from worker.errors import PermanentItemError, unusable
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import StorePatience, put_fenced, until_available
from worker.voices.cache import PromptCache
from worker.voices.encoding import encode_source
from worker.voices.voice_files import to_artifact, to_prompt

logger = logging.getLogger(__name__)

PLACES_SHARE = 4
"""One place to prepare a voice for so many slots, where cores are fewer: see `VoiceResolver`."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One resolution under one lease."""

    reference: VoiceReference
    content: ContentKey
    held: HeldLease


class VoiceResolver:
    """Thread-safe. A voice in memory costs a dictionary lookup and neither Redis nor the store.

    As many recordings are decoded at the same time as the machine has cores: each takes a process. Voices also wait for
    the store and the encoder, so up to a quarter of the slots are prepared. A worker has threads for half as many items
    more than it has slots.
    """

    def __init__(self, store: VoiceStore, artifacts: ArtifactStore, engine: Engine, cache: PromptCache) -> None:
        self._store = store
        self._artifacts = artifacts
        self._engine = engine
        self.cache = cache
        self._decoding = threading.BoundedSemaphore(usable_cores())
        self._preparing = threading.BoundedSemaphore(max(usable_cores(), engine.info.slots // PLACES_SHARE))

    def resolve(self, reference: VoiceReference, held: HeldLease) -> VoicePrompt:
        """The voice for one segment.

        Raises `PermanentItemError` when it can never be had, `StoreUnavailable`, `EngineDied` or `WorkDropped`.
        """
        wanted = self._wanted(reference, held)
        return self.cache.get(wanted.content, lambda: self._obtain(wanted), held.check)

    def borrow(self, reference: VoiceReference, tenant: TenantId, patience: StorePatience) -> VoicePrompt:
        """The voice for live speech, which has no lease to build a cache under: from memory, from the store, or made
        for this worker alone. Raises as `resolve`, and what `patience.check` does.
        """
        content = reference.content(tenant, self._engine.info.revision)
        return self.cache.get(content, lambda: self._borrowed(reference, tenant, content, patience), patience.check)

    @contextmanager
    def place_to_prepare(self) -> Generator[bool]:
        """Whether there is one for the time of the block. No thread waits for it: one that did could not speak."""
        has_place = self._preparing.acquire(blocking=False)
        try:
            yield has_place
        finally:
            if has_place:
                self._preparing.release()

    def prepare(self, reference: VoiceReference, held: HeldLease) -> ClaimStatus:
        """See that the voice's cache is in the store; memory is left to voices that are spoken with.

        READY: it was there already. BUILD: it is there now. BUSY: another item builds it; look again later. Raises as
        `resolve`.
        """
        wanted = self._wanted(reference, held)
        claim = until_available(held, self._store.claim_build, wanted.content, held.lease)
        if claim.status is ClaimStatus.READY:
            found = self._loaded(wanted, _served(claim))
            claim = found if isinstance(found, BuildClaim) else claim
        match claim.status:
            case ClaimStatus.READY | ClaimStatus.BUSY:
                pass
            case ClaimStatus.BUILD:
                self._build(wanted)
            case ClaimStatus.FAILED:
                raise _failed(claim)
            case ClaimStatus.UNKNOWN:
                raise unusable("voice_not_found", f"the voice {reference.name} was deleted or changed meanwhile")
        return claim.status

    def _wanted(self, reference: VoiceReference, held: HeldLease) -> _Wanted:
        return _Wanted(reference, reference.content(held.lease.tenant, self._engine.info.revision), held)

    def _borrowed(
        self, reference: VoiceReference, tenant: TenantId, content: ContentKey, patience: StorePatience
    ) -> VoicePrompt:
        served = until_available(patience, self._store.find_artifact, tenant, content)
        if served is not None:
            try:
                return until_available(patience, self._load, content, served)
            except (ArtifactFormatError, ArtifactMissing) as error:
                # The next job that speaks with it rejects and replaces it, which takes a lease.
                logger.warning("voice cache damaged", extra={"content": content, "error": str(error)})
        return encode_source(reference, self._artifacts, self._decode, self._engine, patience)

    def _obtain(self, wanted: _Wanted) -> VoicePrompt:
        """Not from memory. A damaged cache is built again, once."""
        held, content = wanted.held, wanted.content
        served = until_available(held, self._store.find_artifact, held.lease.tenant, content)
        if served is None:
            claim = until_available(held, self._store.claim_build, content, held.lease)
        else:
            claim = BuildClaim(ClaimStatus.READY, served)
        if claim.status is not ClaimStatus.READY:
            return self._make(wanted, claim)
        found = self._loaded(wanted, _served(claim))
        if not isinstance(found, BuildClaim):
            return found
        if found.status is not ClaimStatus.READY:
            return self._make(wanted, found)
        try:
            return until_available(held, self._load, content, _served(found))
        except (ArtifactFormatError, ArtifactMissing) as error:
            # Another worker was faster, and its version is damaged too: that is no accident of one object.
            raise unusable("voice_cache_corrupt", "the voice's cache was damaged twice") from error

    def _loaded(self, wanted: _Wanted, served: CacheArtifact) -> VoicePrompt | BuildClaim:
        """The stored voice, or what the rejection of a damaged one makes of it."""
        held, content = wanted.held, wanted.content
        try:
            return until_available(held, self._load, content, served)
        except (ArtifactFormatError, ArtifactMissing) as error:
            logger.warning("voice cache damaged", extra={"content": content, "key": served.key, "error": str(error)})
        return until_available(held, self._store.reject_version, content, held.lease, served.fence)

    def _make(self, wanted: _Wanted, claim: BuildClaim) -> VoicePrompt:
        """The claim says that there is nothing to load."""
        match claim.status:
            case ClaimStatus.BUILD:
                return self._build(wanted)
            case ClaimStatus.FAILED if wanted.reference.if_missing is not IfCacheMissing.COMPUTE:
                raise _failed(claim)
            case _:
                return self._encode(wanted)

    def _build(self, wanted: _Wanted) -> VoicePrompt:
        """Make it, store it, say so. Refused results are deleted: the voice may be gone, with all it stored."""
        start = time.perf_counter()
        lease, content = wanted.held.lease, wanted.content
        try:
            prompt = self._encode(wanted)
            data = self._file(wanted, prompt)
        except PermanentItemError as failure:
            # Bound now: the name of a caught exception does not outlive its block.
            error = failure.error
            self._said(wanted, lambda: self._store.fail_build(content, lease, error))
            raise
        key = keys.voice_cache(lease.tenant, content, lease.fence)
        sha256 = put_fenced(self._artifacts, key, data, wanted.held)
        failpoint("voice.after_put")
        artifact = CacheArtifact(key, sha256, len(data), lease.fence)
        build_ms = round((time.perf_counter() - start) * 1000)
        if not self._said(wanted, lambda: self._store.commit_build(content, lease, artifact, build_ms)):
            self._delete(key)
        return prompt

    def _said(self, wanted: _Wanted, say: Callable[[], None]) -> bool:
        """Whether the store took the outcome of a build."""
        try:
            until_available(wanted.held, say)
        except BuildRefused as refusal:
            logger.info("voice build refused", extra={"content": wanted.content, "reason": str(refusal)})
            return False
        return True

    def _encode(self, wanted: _Wanted) -> VoicePrompt:
        return encode_source(wanted.reference, self._artifacts, self._decode, self._engine, wanted.held)

    def _decode(self, data: bytes) -> DecodedRecording:
        with self._decoding:
            return decode_recording(data)

    def _file(self, wanted: _Wanted, prompt: VoicePrompt) -> bytes:
        try:
            info = self._engine.info
            return encode_artifact(to_artifact(prompt, wanted.content, wanted.reference.model, info.revision))
        except ArtifactFormatError as error:
            raise unusable("invalid_request", f"the voice cannot be cached: {error}") from error

    def _load(self, content: ContentKey, served: CacheArtifact) -> VoicePrompt:
        """Raises `ArtifactMissing`, or `ArtifactFormatError` unless every byte and the content are as recorded."""
        artifact = decode_artifact(self._artifacts.get(served.key), served.sha256)
        if artifact.header.content != content:
            raise ArtifactUnknown(f"the file holds {artifact.header.content}")
        return to_prompt(artifact)

    def _delete(self, key: str) -> None:
        try:
            self._artifacts.delete(key)
        except StoreUnavailable as error:
            # The janitor sweeps what no record points at.
            logger.warning("refused voice left in the store", extra={"error": str(error)})


def _served(claim: BuildClaim) -> CacheArtifact:
    if claim.artifact is None:
        raise RuntimeError("a ready cache without an artifact")
    return claim.artifact


def _failed(claim: BuildClaim) -> PermanentItemError:
    if claim.error is None:
        raise RuntimeError("a failed cache without an error")
    return PermanentItemError(claim.error)
