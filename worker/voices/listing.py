"""Voices that a manifest lists: their recordings become the job's own, and each becomes a voice."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from rhapsode.contract.voices.modes import CacheMode
from storage.audio.recordings import DecoderBroken, RecordingFacts, RecordingRefused, inspect_recording
from storage.errors import ArtifactExists, ArtifactMissing, QuotaExceeded, VoiceNameTaken
from storage.ids import TenantId
from storage.jobs.work_items import Lease
from storage.narration.voice_reference import VoiceReference, VoiceSource
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.objects.uploads import take_upload
from storage.voices.plan import ListedRecording, PlannedVoice
from storage.voices.recordings import put_recording
from storage.voices.records import VoiceCreation, VoiceRecord
from storage.voices.store import VoiceStore
from worker.errors import FAULT, unusable
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import until_available

MAX_RECORDING_BYTES = 10 * 1024 * 1024
"""As for a voice that is uploaded by itself."""


def take_recordings(voices: Sequence[PlannedVoice], held: HeldLease, artifacts: ArtifactStore) -> None:
    """Copy the uploads that the job's list names: they are forgotten after a day, and the job may wait longer.

    One that is missing or too large is said by the item that wants it.
    """
    for index, voice in enumerate(voices):
        if isinstance(voice, ListedRecording):
            held.check()
            _take(index, voice, held, artifacts)


def voice_from_list(
    voice: ListedRecording, index: int, held: HeldLease, artifacts: ArtifactStore, store: VoiceStore
) -> VoiceReference:
    """Make the voice, or find it if this was done before. Raises `PermanentItemError` if it cannot become one."""
    tenant = held.lease.tenant
    record = until_available(lambda: store.get_many(tenant, [voice.voice])[0], held)
    if record is None:
        source = until_available(lambda: _stored_source(voice, index, held.lease, artifacts), held)
        record = until_available(lambda: _created(voice, source, tenant, artifacts, store), held)
    return VoiceReference(
        voice=record.id,
        name=record.name,
        revision=record.revision,
        model=voice.model,
        mode=voice.mode,
        source=record.source,
        ref_text=record.ref_text if voice.mode is CacheMode.IN_CONTEXT else "",
    )


def _take(index: int, voice: ListedRecording, held: HeldLease, artifacts: ArtifactStore) -> None:
    lease = held.lease
    upload_key = keys.upload(lease.tenant, voice.audio)
    own_key = keys.listed_recording(lease.tenant, lease.job, index)
    entry = until_available(lambda: artifacts.stat(upload_key), held)
    if entry is None or entry.bytes > MAX_RECORDING_BYTES:
        return
    # Missing: the upload went away just now. There: an earlier try of this plan was here.
    with suppress(ArtifactMissing, ArtifactExists):
        until_available(lambda: take_upload(artifacts, upload_key, own_key), held)


def _stored_source(voice: ListedRecording, index: int, lease: Lease, artifacts: ArtifactStore) -> VoiceSource:
    """The recording, looked at as a whole and stored as the voice's own under the lease's fence."""
    with tempfile.TemporaryFile() as file:
        _fetch(voice, keys.listed_recording(lease.tenant, lease.job, index), artifacts, file)
        facts = _facts(voice, file)
        key = keys.voice_source(lease.tenant, voice.voice, str(lease.fence))
        # No other worker writes under our fence: what lies there is of an earlier try whose answer was lost.
        artifacts.delete(key)
        return put_recording(artifacts, key, file, facts)


def _fetch(voice: ListedRecording, key: str, artifacts: ArtifactStore, file: IO[bytes]) -> None:
    try:
        for piece in artifacts.read_stream(key):
            file.write(piece)
    except ArtifactMissing as error:
        most = f"{MAX_RECORDING_BYTES >> 20} MiB"
        raise unusable(
            "not_found", f"line {voice.line}: no recording of at most {most} arrived as {voice.audio}"
        ) from error
    file.flush()


def _facts(voice: ListedRecording, file: IO[bytes]) -> RecordingFacts:
    try:
        facts = inspect_recording(file)
        facts.refuse_text(voice.ref_text)
        return facts
    except RecordingRefused as error:
        raise unusable("unsupported_media", f"line {voice.line}: {error.detail}") from error
    except DecoderBroken as error:
        raise unusable("internal", FAULT) from error


def _created(
    voice: ListedRecording, source: VoiceSource, tenant: TenantId, artifacts: ArtifactStore, store: VoiceStore
) -> VoiceRecord:
    wanted = VoiceCreation(
        id=voice.voice,
        tenant=tenant,
        name=voice.name,
        source=source,
        ref_text=voice.ref_text,
        language=voice.language,
        description=voice.description,
        consent=voice.consent,
    )
    try:
        return store.create(wanted)
    except VoiceNameTaken as error:
        artifacts.delete(source.key)
        return _namesake(voice, source, tenant, store, error)
    except QuotaExceeded as error:
        artifacts.delete(source.key)
        raise unusable("quota_exceeded", f"line {voice.line}: {error}") from error


def _namesake(
    voice: ListedRecording, source: VoiceSource, tenant: TenantId, store: VoiceStore, taken: VoiceNameTaken
) -> VoiceRecord:
    """A manifest that is sent again finds its own voices; another recording under the name belongs to another owner."""
    found = store.find(tenant, voice.name)
    if found is None or found.source.sha256 != source.sha256:
        raise unusable("name_taken", f"line {voice.line}: {taken}") from taken
    return found
