"""What a fleet must have for a number of segments an hour: by arithmetic, and by a simulation that reproduces it.

    python benchmarks/queue/fleet.py [--seconds 600] [--format mp3]

Clips are jobs of one segment over HTTP, books jobs of 300. The arithmetic adds up what each part spends on a segment
and keeps every part below 70 %; the simulation lets jobs arrive at random and plays them through queues for the API,
for Redis, for CPU cores, and for GPUs whose pace follows their streams. Nothing is measured here: every figure comes
from the other benchmarks of this folder and stands below with its source. Prints one table for each kind of work.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from benchmarks.queue.fleet_model import Demand, Fleet, Measured, Outcome, Simulation, shares, size

BUSY = 0.7
"""Of any part: above it a queue grows long before the part is full."""

THROUGH_SYSTEM = 0.975
"""`system.py`: of what the engine alone speaks, what arrives through API, queue, workers and store."""

H200_1_7B = ((1, 30.7), (8, 159.0), (32, 441.0), (64, 773.0), (128, 1132.0), (256, 1547.0))
"""README.md, one H200, 1.7B: `gpu_engine.py`, closed loop, audio seconds a second by streams."""

ENCODING = {"wav": 9633.0, "flac": 2209.0, "mp3": 144.0, "opus": 312.0, "m4b": 289.0}
"""`assembly.py`: seconds of audio a second, loudness and all, on one core."""

MEASURED = Measured(
    # submit.py: 345 a second with a key, rate limit and quotas, and client and Valkey on the same two cores: an upper
    # bound of what the API alone takes.
    api_submit_s=1 / 345,
    # job_store.py: a submit in the store.
    redis_submit_s=0.00026,
    # tickets.py: CPU of Valkey and of the GPU worker's process for a segment; its post-processors have cores of their
    # own.
    redis_segment_s=0.0009,
    worker_segment_s=0.0034,
    # planning.py: plain English.
    plan_chars_per_s=760_000.0,
    encode_audio_per_core_s=ENCODING["mp3"],
    engine_pace=tuple((streams, THROUGH_SYSTEM * pace) for streams, pace in H200_1_7B),
    # job_store.py: a finished job of 5,000 segments has 508 KiB. batches.py: a clip's job has 6.6 kB.
    redis_segment_bytes=104.0,
    redis_job_bytes=6_600.0,
)

SEGMENT_AUDIO_S = 9.0
SEGMENT_CHARS = 158
"""job_store.py: 790,000 characters in 5,000 segments."""

HOURLY = (10_000, 100_000, 300_000, 1_000_000, 3_000_000)
KINDS = {"clips": 1, "books": 300}


def demand(segments_per_hour: float, segments_per_job: int) -> Demand:
    return Demand(segments_per_hour, segments_per_job, SEGMENT_AUDIO_S, SEGMENT_CHARS)


def redis_gigabytes_an_hour(wanted: Demand, measured: Measured) -> float:
    """What the jobs of an hour hold in Redis, as long as they are kept."""
    jobs = wanted.jobs_per_s * measured.redis_job_bytes
    return (jobs + wanted.segments_per_s * measured.redis_segment_bytes) * 3600 / 1e9


def row(wanted: Demand, measured: Measured, seconds: float) -> str:
    fleet = size(wanted, measured, BUSY)
    outcome = Simulation(fleet, wanted, measured, seed=1).run(seconds)
    return _row(wanted, fleet, measured, outcome)


def _row(wanted: Demand, fleet: Fleet, measured: Measured, outcome: Outcome) -> str:
    part = shares(fleet, wanted, measured)
    cells = (
        f"{wanted.segments_per_hour:,.0f}",
        f"{wanted.segments_per_s * wanted.audio_s_per_segment:,.0f}",
        str(fleet.api_replicas),
        str(fleet.cpu_cores),
        str(fleet.gpus),
        f"{part.redis:.0%} / {outcome.redis_share:.0%}",
        f"{part.gpu:.0%} / {outcome.gpu_share:.0%}",
        f"{redis_gigabytes_an_hour(wanted, measured):.2f}",
        f"{outcome.segments_per_hour / wanted.segments_per_hour:.0%}",
        f"{outcome.wait_p50_s * 1000:.0f} / {outcome.wait_p99_s * 1000:.0f}",
        f"{outcome.done_p50_s:.1f}",
    )
    return f"| {' | '.join(cells)} |"


HEADER = (
    "| segments an hour | audio s/s | API | CPU cores | H200 | Redis, sum / simulated | GPU, sum / simulated "
    "| GB of Redis for each hour kept | served | first segment starts, p50 / p99 ms | done after, p50 s |\n"
    "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0, help="simulated time (600)")
    parser.add_argument("--format", choices=sorted(ENCODING), default="mp3", help="what is assembled (mp3)")
    arguments = parser.parse_args()
    measured = replace(MEASURED, encode_audio_per_core_s=ENCODING[arguments.format])
    for kind, segments_per_job in KINDS.items():
        print(f"\n{kind}, {segments_per_job} segment{'s' * (segments_per_job > 1)} a job, {arguments.format}\n")
        print(HEADER)
        for hourly in HOURLY:
            print(row(demand(hourly, segments_per_job), measured, arguments.seconds), flush=True)


if __name__ == "__main__":
    main()
