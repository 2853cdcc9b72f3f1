"""What a job on the fake engine must sound like, worked out from the public pure functions alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storage.jobs import NarrationSpec
from storage.timeline import num_gap_samples
from worker.engine.fake import SAMPLE_RATE_HZ, fake_speech
from worker.samples import to_samples
from worker.segmentation import plan_segments
from worker.speech_edges import finish_edges
from worker.synthesis import segment_seed


@dataclass(frozen=True)
class ExpectedNarration:
    samples: NDArray[np.int16]
    frames: NDArray[np.int16]
    num_segments: int


def expected_narration(text: str, spec: NarrationSpec) -> ExpectedNarration:
    """The whole job's samples and codec frames."""
    samples: list[NDArray[np.int16]] = []
    frames: list[NDArray[np.int16]] = []
    segments = plan_segments(text, spec.segmentation, spec.pauses)
    for segment in segments:
        pcm, codes = fake_speech(" ".join(segment.text.split()), segment_seed(spec.seed, segment.index))
        samples.append(to_samples(finish_edges(pcm, SAMPLE_RATE_HZ)))
        samples.append(np.zeros(num_gap_samples(segment.pause_after_s, SAMPLE_RATE_HZ), np.int16))
        frames.append(codes)
    return ExpectedNarration(np.concatenate(samples), np.concatenate(frames), len(segments))
