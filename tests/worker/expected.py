"""What a job on the fake engine must sound like, worked out from the public pure functions alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reading.plan.plan import with_occurrences
from reading.segmenting.segmentation import plan_segments
from storage.narration.spec import NarrationSpec
from storage.segments.timeline import num_gap_samples
from worker.engine.fake import SAMPLE_RATE_HZ, fake_speech
from worker.speech.audio.samples import to_samples
from worker.speech.audio.speech_edges import finish_edges
from worker.synthesis.spoken_segment import segment_seed


@dataclass(frozen=True)
class ExpectedNarration:
    samples: NDArray[np.int16]
    frames: NDArray[np.int16]
    num_segments: int


def expected_narration(text: str, spec: NarrationSpec) -> ExpectedNarration:
    """The whole job's samples and codec frames."""
    samples: list[NDArray[np.int16]] = []
    frames: list[NDArray[np.int16]] = []
    segments = with_occurrences(plan_segments(text, spec.segmentation, spec.request.pauses))
    for segment in segments:
        seed = segment_seed(spec.request.seed, segment.spoken_text, segment.occurrence)
        pcm, codes = fake_speech(segment.spoken_text, seed)
        samples.append(to_samples(finish_edges(pcm, SAMPLE_RATE_HZ)))
        samples.append(np.zeros(num_gap_samples(segment.pause_after_s, SAMPLE_RATE_HZ), np.int16))
        frames.append(codes)
    return ExpectedNarration(np.concatenate(samples), np.concatenate(frames), len(segments))
