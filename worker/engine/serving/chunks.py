"""Lengths of a stream's chunks. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from worker.engine.profiles import FRAMES_PER_PASS_CPU, PROFILES, ServingProfile


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """The first chunk is short for low latency. Each later one is as long as all before it, up to `most` frames.

    So the buffered audio covers the playing time until the next chunk arrives.
    """

    first: int
    most: int

    def length_behind(self, num_frames: int) -> int:
        """Frames of the chunk that follows the first `num_frames`."""
        return min(max(self.first, num_frames), self.most)


def chunks_on_cpu(profile: ServingProfile) -> ChunkPlan:
    """For streams, and for the codec's passes, which have the same lengths."""
    return ChunkPlan(PROFILES[profile].first_chunk_frames, FRAMES_PER_PASS_CPU)
