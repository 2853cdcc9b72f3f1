"""How the samples of one utterance are divided while it is made. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from worker.engine.profiles import FRAMES_PER_PASS_CPU, PROFILES, ServingProfile


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """A short chunk first, so that it can be heard soon; then each as long as all before it, up to `most` frames.

    A listener who plays at the speed of speech has as much to hear as the next chunk is long, while that one is made.
    """

    first: int
    most: int

    def length_behind(self, num_frames: int) -> int:
        """Frames of the chunk that begins behind so many frames."""
        return min(max(self.first, num_frames), self.most)


def chunks_on_cpu(profile: ServingProfile) -> ChunkPlan:
    """Of streams, and of the codec's passes, which are divided as streams are."""
    return ChunkPlan(PROFILES[profile].first_chunk_frames, FRAMES_PER_PASS_CPU)
