"""How an engine on a GPU trades the wait of one against the speed of all: serving profiles as data."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class ServingProfile(enum.StrEnum):
    LATENCY = "latency"
    BALANCED = "balanced"
    THROUGHPUT = "throughput"


class EngineReproducibility(enum.StrEnum):
    """Whether a request's codes may depend, in rounding, on who shares the batch.

    Twin of `storage.narration.spec.Reproducibility`, which the engine, a library, does not import.
    """

    BEST_EFFORT = "best_effort"
    STRICT = "strict"


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """How many requests are taken in between two frames.

    max_prefill_rows: prompt rows between two frames, so that arrivals cannot starve running streams; one prompt goes in
    whatever its length. least_together, patience_steps: a pass over the prompts costs nearly the same for one as for a
    few, and all running requests wait for it. So new requests wait until least_together can go in together, for at most
    patience_steps steps. With fewer running requests, fewer are awaited.
    """

    max_prefill_rows: int
    least_together: int = 1
    patience_steps: int = 0


@dataclass(frozen=True, slots=True)
class ProfileParameters:
    """frames_in_flight: frame steps launched and not read back yet; an end is noticed so many frames late at most.

    codec_patience_s: how long an ended utterance that is not awaited may wait for others to be decoded with.
    first_chunk_frames: of a live utterance; also on a CPU.
    codec_frames_beside_streams: of a pass of the codec while a stream plays, over all utterances: the next part of
        a stream waits for the running pass.
    codec_priority: of the codec's kernels on the device, lower goes first, where the talker's have -1. Behind a
        talker that always has the next frame ready, a pass of one frame takes 20 ms instead of 3.
    most_openings: streams that begin together and have their first frame made apart from the frames in flight, so that
        they wait for none of them; 0: they join those that run, as all others do.
    """

    admission: AdmissionPolicy
    frames_in_flight: int
    codec_patience_s: float
    first_chunk_frames: int
    codec_frames_beside_streams: int
    codec_priority: int
    most_openings: int


FRAMES_PER_PASS_CPU = 16
"""Of the codec. The small voice on one AMD EPYC core, audio seconds a second: 9 at 1 frame a pass, 20 at 8, 22 at 16,
21 at 100. Short passes wait for calls, long ones for memory.
"""

PROFILES = {
    ServingProfile.LATENCY: ProfileParameters(
        AdmissionPolicy(max_prefill_rows=256),
        frames_in_flight=2,
        codec_patience_s=0.0,
        first_chunk_frames=1,
        codec_frames_beside_streams=128,
        codec_priority=-2,
        most_openings=4,
    ),
    ServingProfile.BALANCED: ProfileParameters(
        AdmissionPolicy(max_prefill_rows=1024, least_together=4, patience_steps=3),
        frames_in_flight=3,
        codec_patience_s=0.02,
        first_chunk_frames=2,
        codec_frames_beside_streams=256,
        codec_priority=0,
        most_openings=4,
    ),
    ServingProfile.THROUGHPUT: ProfileParameters(
        AdmissionPolicy(max_prefill_rows=2048, least_together=8, patience_steps=8),
        frames_in_flight=3,
        codec_patience_s=0.1,
        first_chunk_frames=4,
        codec_frames_beside_streams=400,
        codec_priority=0,
        most_openings=0,
    ),
}
