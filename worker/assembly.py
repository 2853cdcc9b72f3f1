"""The assemble item: finished segments become one WAV, one file of codec frames and a manifest."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
from safetensors.numpy import save

from storage import keys
from storage.artifacts import ArtifactStore
from storage.errors import ArtifactCorrupt, ArtifactMissing
from storage.failpoints import failpoint
from storage.jobs import ArtifactRecord, ClaimedItem, JobId, SegmentResult, TenantId, Tickets
from storage.plan import Plan, PlanFormatError
from storage.plan_cache import PlanCache
from storage.segment_file import SegmentFormatError, SegmentHeader
from storage.timeline import Placed, SegmentsIncomplete, place_segments, spoken_span
from storage.wav import wav_header
from worker.engine.interface import CodecFrames
from worker.errors import unusable
from worker.leases import HeldLease
from worker.persistence import put_fenced, until_available
from worker.samples import to_bytes
from worker.segment_audio import SegmentAudio, decode_segment
from worker.services import WorkerServices

logger = logging.getLogger(__name__)

WAV_NAME, CODES_NAME, MANIFEST_NAME = "narration.wav", "codes.safetensors", "manifest.json"

MANIFEST_FORMAT = 1
CODES_FORMAT = 1

SILENCE_BLOCK = 65_536
"""Samples of silence handed out at once: a pause may be long, memory stays small."""


@dataclass(frozen=True, slots=True)
class _Spoken:
    """What the manifest and the frame file need of a segment once its samples are written."""

    placed: Placed
    header: SegmentHeader
    codes: CodecFrames


def run_assembly(item: ClaimedItem, held: HeldLease, services: WorkerServices) -> Tickets:
    """Join the job's segments, store the artifacts, finish the job. Memory: one segment and all codec frames."""
    lease, artifacts = item.lease, services.artifacts
    record = until_available(lambda: services.jobs.get(lease.tenant, lease.job), held)
    results = until_available(lambda: services.jobs.segment_results(lease.tenant, lease.job), held)
    plan = until_available(lambda: _plan(item, services.plans), held)
    placed = _placed(plan, results, record.sample_rate_hz)
    header = wav_header(placed[-1].end, record.sample_rate_hz)
    spoken: list[_Spoken] = []
    wav_key = keys.artifact(lease, WAV_NAME)
    stored = artifacts.put_stream(wav_key, _wav(header, placed, spoken, item, held, artifacts))
    duration_s = placed[-1].end / record.sample_rate_hz
    wav = ArtifactRecord(WAV_NAME, "wav", wav_key, stored.bytes, stored.sha256, duration_s)
    codes = _put(item, held, artifacts, CODES_NAME, "codes", _codes_file(spoken))
    manifest = _put(item, held, artifacts, MANIFEST_NAME, "manifest", _manifest(item, spoken, wav, codes))
    failpoint("assemble.after_put")
    finished = until_available(lambda: services.jobs.finish(lease, (wav, codes, manifest)), held)
    failpoint("assemble.after_finish")
    logger.info("job finished", extra={"segments": len(spoken), "audio_s": round(duration_s, 3)})
    return finished.tickets


def _placed(plan: Plan, results: list[SegmentResult], sample_rate_hz: int) -> tuple[Placed, ...]:
    try:
        return place_segments(plan.segments, results, sample_rate_hz)
    except SegmentsIncomplete as error:
        raise unusable("internal", str(error)) from error


def _plan(item: ClaimedItem, plans: PlanCache) -> Plan:
    if item.plan_key is None:
        raise RuntimeError("an assembly was claimed before its job had a plan")
    try:
        return plans.get(item.plan_key)
    except ArtifactMissing as error:
        raise unusable("internal", "the job's plan is not in the store any more") from error
    except PlanFormatError as error:
        raise unusable("internal", f"the job's plan in the store is damaged: {error}") from error


def _wav(
    header: bytes,
    placed: tuple[Placed, ...],
    spoken: list[_Spoken],
    item: ClaimedItem,
    held: HeldLease,
    artifacts: ArtifactStore,
) -> Iterator[bytes]:
    """The file in pieces; adds every segment to `spoken` as it goes by, so that each is read once."""
    yield header
    for each in placed:
        held.check()
        segment = _verified_segment(each.result, item.lease.tenant, item.lease.job, artifacts, held)
        spoken.append(_Spoken(each, segment.header, segment.codes))
        yield to_bytes(segment.pcm)
        yield from _silence(each.num_gap)


def _silence(num_samples: int) -> Iterator[bytes]:
    for start in range(0, num_samples, SILENCE_BLOCK):
        yield bytes(2 * min(SILENCE_BLOCK, num_samples - start))


def _verified_segment(
    result: SegmentResult, tenant: TenantId, job: JobId, artifacts: ArtifactStore, held: HeldLease
) -> SegmentAudio:
    """The segment that was committed, or the job's error: what is damaged does not heal by trying again."""
    key = keys.segment(tenant, job, result.index, result.fence)
    try:
        data = until_available(lambda: artifacts.get(key), held)
        if hashlib.sha256(data).hexdigest() != result.sha256:
            raise SegmentFormatError("its sha256 is not the recorded one")
        segment = decode_segment(data)
    except ArtifactMissing as error:
        raise unusable("internal", f"segment {result.index} is not in the store any more", result.index) from error
    except (ArtifactCorrupt, SegmentFormatError) as error:
        raise unusable("internal", f"segment {result.index} in the store is damaged: {error}", result.index) from error
    if len(segment.pcm) != result.num_samples:
        raise unusable("internal", f"segment {result.index} is not as long as recorded", result.index)
    return segment


def _codes_file(spoken: list[_Spoken]) -> bytes:
    """`codes` int16 (T, Q): all frames; `segment_offsets` int64 (S + 1,): segment s is rows [s] up to [s + 1]."""
    counts = [len(each.codes) for each in spoken]
    tensors = {
        "codes": np.concatenate([each.codes for each in spoken]),
        "segment_offsets": np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
    }
    first = spoken[0].header
    facts = {"format": CODES_FORMAT, "model": first.model, "revision": first.revision}
    return save(tensors, metadata={"codes": json.dumps(facts)})


def _manifest(item: ClaimedItem, spoken: list[_Spoken], wav: ArtifactRecord, codes: ArtifactRecord) -> bytes:
    rate = spoken[0].header.sample_rate_hz
    document = {
        "format": MANIFEST_FORMAT,
        "job": item.lease.job,
        "model": item.narration.model,
        # More than one if the checkpoint was replaced while the job ran.
        "revisions": sorted({each.header.revision for each in spoken}),
        "settings": asdict(item.narration),
        "sample_rate_hz": rate,
        "totals": {
            "segments": len(spoken),
            "samples": spoken[-1].placed.end,
            "duration_s": wav.duration_s,
            "frames": sum(len(each.codes) for each in spoken),
            "segments_at_length_limit": sum(each.header.finish_reason == "length" for each in spoken),
        },
        "artifacts": [_artifact_row(wav), _artifact_row(codes)],
        "segments": [_segment_row(each, rate) for each in spoken],
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def _artifact_row(artifact: ArtifactRecord) -> dict[str, str | int]:
    return {"name": artifact.name, "bytes": artifact.bytes, "sha256": artifact.sha256}


def _segment_row(spoken: _Spoken, sample_rate_hz: int) -> dict[str, str | int | float]:
    """`start` and `end` are code points of the input, `start_s` and `duration_s` say when it is heard."""
    placed, header = spoken.placed, spoken.header
    span = spoken_span(placed, sample_rate_hz)
    return {
        "index": placed.planned.index,
        "start": placed.planned.start,
        "end": placed.planned.end,
        "start_s": round(span.start_s, 6),
        "duration_s": round(span.duration_s, 6),
        "pause_after_s": placed.planned.pause_after_s,
        "seed": header.seed,
        "finish_reason": header.finish_reason,
        "revision": header.revision,
        "text_sha256": header.text_sha256,
        "sha256": placed.result.sha256,
    }


def _put(
    item: ClaimedItem, held: HeldLease, artifacts: ArtifactStore, name: str, kind: str, data: bytes
) -> ArtifactRecord:
    key = keys.artifact(item.lease, name)
    sha256 = put_fenced(artifacts, key, data, held)
    return ArtifactRecord(name, kind, key, len(data), sha256)
