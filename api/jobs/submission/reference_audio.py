"""A recording that a request names or holds: an upload of the caller's, a data URL, or an address on the internet."""

from __future__ import annotations

import base64
import binascii
import hashlib
import tempfile
from dataclasses import dataclass

from anyio import from_thread
from anyio.to_thread import run_sync

from api.http.problems.problem import backlog_full, decoder_unavailable, invalid_field
from api.services.intake import Recordings
from api.services.webhooks import refused_url
from api.uploads.named import read_named_upload
from api.voices.creation import recording_refused
from api.voices.upload import MAX_SAMPLE_BYTES
from storage.audio.recording_verdict import RecordingFacts
from storage.audio.recordings import DecoderBroken, RecordingRefused, inspect_recording
from storage.ids import UPLOAD_PREFIX, TenantId
from storage.narration.voice_reference import SourceKind, VoiceSource
from storage.objects.store import ArtifactStore
from storage.runtime.egress.errors import ConnectionFailed, Redirected, SafeHttpError, TimedOut, UnexpectedStatus
from storage.webhooks.http import TOTAL_S

_BASE64 = ";base64"


@dataclass(frozen=True, slots=True)
class Reference:
    """source: as it will lie in the store; data: what is to be put there."""

    source: VoiceSource
    data: bytes


def read_reference(
    artifacts: ArtifactStore, recordings: Recordings, tenant: TenantId, named: str, key: str, pointer: str
) -> Reference:
    """The recording, decoded once as any voice's is. In a thread of a request. Raises a `Problem`."""
    data = _bytes(artifacts, recordings, tenant, named, pointer)
    facts = _facts(recordings, data, pointer)
    source = VoiceSource(
        SourceKind.RECORDING,
        key,
        hashlib.sha256(data).hexdigest(),
        len(data),
        facts.container.media_type,
        duration_s=round(facts.duration_s, 3),
        repairs=facts.repairs,
    )
    return Reference(source, data)


def _bytes(artifacts: ArtifactStore, recordings: Recordings, tenant: TenantId, named: str, pointer: str) -> bytes:
    if named.startswith(UPLOAD_PREFIX):
        return read_named_upload(artifacts, tenant, named, pointer, MAX_SAMPLE_BYTES)
    if named[:5].lower() == "data:":
        return _decoded(named[5:], pointer)
    if named[:6].lower() == "https:" or named[:5].lower() == "http:":
        return _fetched(recordings, named, pointer)
    detail = "must be an upload's id (upl_…), a data URL (data:audio/wav;base64,…) or an address (https://…)"
    raise invalid_field(pointer, "not_a_recording", detail)


def _decoded(rest: str, pointer: str) -> bytes:
    """Of a data URL what follows `data:`; its type says nothing, as an upload's does not."""
    head, comma, content = rest.partition(",")
    if not comma or not head.lower().endswith(_BASE64):
        raise invalid_field(pointer, "not_a_recording", "a data URL of a recording is data:audio/wav;base64,…")
    try:
        data = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid_field(pointer, "not_a_recording", "what follows the comma is no base64") from error
    if len(data) > MAX_SAMPLE_BYTES:
        raise invalid_field(pointer, "too_large", f"a recording has at most {MAX_SAMPLE_BYTES:,} bytes")
    return data


def _fetched(recordings: Recordings, url: str, pointer: str) -> bytes:
    """From the internet alone. What the other side does is one refusal: it must not tell what listens where."""
    if not recordings.fetches.acquire(blocking=False):
        raise backlog_full("as many recordings as may be are being fetched", TOTAL_S)
    try:
        return recordings.http.get(url, MAX_SAMPLE_BYTES)
    except (ConnectionFailed, TimedOut, Redirected, UnexpectedStatus) as error:
        detail = "the address gave no recording; it has to answer with 200, without a redirect, within 15 s"
        raise invalid_field(pointer, "not_fetched", detail) from error
    except SafeHttpError as error:
        raise refused_url(error, pointer) from error
    finally:
        recordings.fetches.release()


def _facts(recordings: Recordings, data: bytes, pointer: str) -> RecordingFacts:
    async def inspected() -> RecordingFacts:
        return await run_sync(inspect_recording, file, limiter=recordings.decoders)

    with tempfile.TemporaryFile() as file:
        file.write(data)
        try:
            return from_thread.run(inspected, token=recordings.loop)
        except RecordingRefused as error:
            raise recording_refused(error, pointer.strip("/")) from error
        except DecoderBroken as error:
            raise decoder_unavailable() from error
