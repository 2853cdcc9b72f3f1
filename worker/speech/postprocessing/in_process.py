"""The work itself, in whichever process it is called."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rhapsode.contract.jobs.quality import Gate
from storage.ids import JobId, TenantId
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.segments.packs import INDEX_BYTES, PackPlace, encode_pack
from worker.items.leases.put_once import put_once
from worker.speech.audio.samples import Samples, require_finite, to_samples
from worker.speech.audio.segment_audio import SegmentAudio, encode_segment
from worker.speech.audio.speech_edges import finish_edges
from worker.speech.postprocessing.interface import (
    JudgedSpeech,
    PackPart,
    Sequel,
    StoredSpeech,
)
from worker.speech.postprocessing.sentence_ends import PauseKeeper
from worker.speech.quality.calibration.calibration_file import SpeechBounds
from worker.speech.quality.job_norms import JobNorms
from worker.speech.quality.verdict import JudgedUtterance, Verdict, measured_verdict

PEAKS_PER_S = 25
"""A line of a picture every 40 ms: syllables are seen, and a minute takes two kilobytes."""

MOST_PEAKS = 2_400
"""What is longer than a minute and a half is drawn of longer stretches: the header that they stand in is bounded."""

FULL_SCALE = 255


class InProcessPostProcessor:
    """Implements `PostProcessor` in the thread that calls."""

    def __init__(self, artifacts: ArtifactStore) -> None:
        self._artifacts = artifacts
        self._pauses = PauseKeeper()

    def judge(self, utterance: JudgedUtterance, gate: Gate, bounds: SpeechBounds, norms: JobNorms | None) -> Verdict:
        return measured_verdict(utterance, gate, bounds, norms)

    def judge_then(
        self, utterance: JudgedUtterance, gate: Gate, bounds: SpeechBounds, norms: JobNorms | None, sequel: Sequel
    ) -> JudgedSpeech:
        verdict = self.judge(utterance, gate, bounds, norms)
        if not verdict.passed:
            return JudgedSpeech(verdict, None)
        return JudgedSpeech(verdict, sequel(verdict, utterance.speech, self._finished, self._artifacts))

    def store(self, key: str, part: PackPart) -> StoredSpeech:
        segment = self._finished(part)
        data = encode_segment(segment)
        return StoredSpeech(len(data), put_once(self._artifacts, key, data), len(segment.pcm))

    def store_pack(self, tenant: TenantId, parts: Sequence[PackPart]) -> tuple[StoredSpeech, ...]:
        """The first segment bears the index."""
        segments = [self._finished(part) for part in parts]
        pack = encode_pack([(each.header.index, each.header.fence, encode_segment(each)) for each in segments])
        put_once(self._artifacts, keys.pack(tenant, JobId(segments[0].header.job), pack.name), pack.data)
        return tuple(
            StoredSpeech(
                packed.num_bytes + (0 if number else INDEX_BYTES),
                packed.sha256,
                len(segment.pcm),
                PackPlace(pack.name, packed.offset, packed.num_bytes),
            )
            for number, (packed, segment) in enumerate(zip(pack.segments, segments, strict=True))
        )

    def _finished(self, part: PackPart) -> SegmentAudio:
        if isinstance(part, SegmentAudio):
            return part
        header, speech, pauses = part.header, part.speech, part.pauses
        # Before anything is measured against the loudest of them.
        require_finite(speech.pcm)
        pcm = finish_edges(speech.pcm, speech.sample_rate_hz)
        if pauses is not None:
            found = self._pauses.held(pcm, speech.sample_rate_hz, pauses)
            pcm, header = found.pcm, replace(header, pauses_held=found.held, pauses_left=found.left)
        samples = to_samples(pcm)
        header = replace(header, peaks=encoded_peaks(samples, speech.sample_rate_hz))
        return SegmentAudio(header, samples, speech.frames)

    @property
    def num_processes(self) -> int:
        return 0


def encoded_peaks(pcm: Samples, sample_rate_hz: int) -> str:
    """Of each of stretches of equal length the sample that is farthest from zero, as a byte, 255 for full scale.

    In base64; "" for no samples.
    """
    if not len(pcm):
        return ""
    num_peaks = min(MOST_PEAKS, -(-len(pcm) * PEAKS_PER_S // sample_rate_hz), len(pcm))
    starts = np.arange(num_peaks) * len(pcm) // num_peaks
    highest = np.maximum.reduceat(pcm, starts).astype(np.int32)
    lowest = np.minimum.reduceat(pcm, starts).astype(np.int32)
    # Rounded up: what is not silent is seen.
    peaks = -(-np.maximum(highest, -lowest) * FULL_SCALE // 32_768)
    return base64.b64encode(peaks.astype(np.uint8).tobytes()).decode()
