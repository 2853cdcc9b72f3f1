"""The work itself, in whichever process it is called."""

from __future__ import annotations

from storage.artifacts import ArtifactStore
from storage.quality import Gate
from storage.segment_file import SegmentHeader
from worker.engine.interface import Speech
from worker.finishing.finisher import FinisherReport, StoredSpeech
from worker.put_once import put_once
from worker.quality.calibration import SpeechBounds
from worker.quality.job_norms import JobNorms
from worker.quality.verdict import Utterance, Verdict, measured_verdict
from worker.samples import require_finite, to_samples
from worker.segment_audio import SegmentAudio, encode_segment
from worker.speech_edges import finish_edges


class OwnFinisher:
    """Implements `Finisher` in the thread that calls."""

    def __init__(self, artifacts: ArtifactStore) -> None:
        self._artifacts = artifacts

    def judge(self, utterance: Utterance, gate: Gate, bounds: SpeechBounds, norms: JobNorms | None) -> Verdict:
        return measured_verdict(utterance, gate, bounds, norms)

    def store(self, key: str, header: SegmentHeader, speech: Speech) -> StoredSpeech:
        # Before anything is measured against the loudest of them.
        require_finite(speech.pcm)
        samples = to_samples(finish_edges(speech.pcm, speech.sample_rate_hz))
        data = encode_segment(SegmentAudio(header, samples, speech.frames))
        return StoredSpeech(len(data), put_once(self._artifacts, key, data), len(samples))

    def report(self) -> FinisherReport:
        return FinisherReport(processes=0, deaths=0)
