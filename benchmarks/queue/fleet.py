"""What a fleet must have for a number of segments an hour: by arithmetic, and by a simulation that reproduces it.

    python -m benchmarks.queue.fleet [--seconds 600] [--format mp3] [--hours-a-day 1000000]

Clips are jobs of one segment over HTTP, books jobs of 300. The arithmetic adds up what each part spends on a segment
and keeps every part below 70 %; the simulation lets jobs arrive at random and plays them through queues for the API,
for Redis, for CPU cores, and for GPUs whose pace follows their streams. Nothing is measured here: every figure comes
from the other benchmarks of this folder and stands below with its source. Prints one table for each kind of work; with
`--hours-a-day` only what that many hours of audio take, money and all, and which part breaks first (`fleet_day`).
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from benchmarks.queue.fleet_day import Limits, Prices, Work, table
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
    # short_jobs.py: 1.17 ms of Valkey for a short job, all that its clients ask included; here less its segment.
    redis_submit_s=0.00093,
    # job_store.py, a worker of 256 slots: the highest of 189, 233 and 240 us.
    redis_segment_s=0.00024,
    # tickets.py: CPU of the GPU worker's process for a segment, claims one by one; in batches it takes less. Its
    # post-processors have cores of their own.
    worker_segment_s=0.0034,
    # planning.py: plain English.
    plan_chars_per_s=760_000.0,
    encode_audio_per_core_s=ENCODING["mp3"],
    engine_pace=tuple((streams, THROUGH_SYSTEM * pace) for streams, pace in H200_1_7B),
    # job_store.py: a finished job of 5,000 segments has 508 KiB. batches.py: a clip's job has 6.6 kB.
    redis_segment_bytes=104.0,
    redis_job_bytes=6_600.0,
)

# CPU of a segment around the engine of 1.7B, in system.py's run: worker, post-processors, engine's process, CPU worker
# and API, 4.8, 10.2, 14.1, 2.6 and 1.2 ms.
AROUND_ENGINE_S = 0.0329
# PUTs: segment_packs.py, the more of 41 and 57 for 224 and 231 segments, and six of a book's own; short_jobs.py, five
# for a short job.
WORK = (
    Work(
        "books of 300 segments",
        300,
        10.0,
        0.00024 + 0.00093 / 300,
        AROUND_ENGINE_S,
        57 / 231 + 6 / 300,
        1.0,
        webhooks=1.0,
    ),
    Work("clips, each a job with a webhook", 1, 10.0, 0.00117, AROUND_ENGINE_S, 5.0, 1.0, webhooks=1.0),
)
LIMITS = Limits(
    # webhooks.py, to fifty receivers: of one core, and of Valkey.
    webhook_s=0.00034,
    webhook_redis_s=0.00019,
    # As S3 documents it; 24,000 samples of two bytes; MP3 of 64 kbit/s.
    prefix_puts_per_s=3_500.0,
    pcm_bytes_per_s=48_000.0,
    kept_bytes_per_s=8_000.0,
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
    parser.add_argument("--hours-a-day", type=float, help="of audio; what that takes, and nothing else")
    arguments = parser.parse_args()
    measured = replace(MEASURED, encode_audio_per_core_s=ENCODING[arguments.format])
    if arguments.hours_a_day is not None:
        if not arguments.hours_a_day > 0:
            parser.error("--hours-a-day: more than none")
        for work in WORK:
            print(f"\n{arguments.hours_a_day:,.0f} hours of audio a day, {work.name}, {arguments.format}\n")
            print(table(arguments.hours_a_day, work, measured, LIMITS, Prices()))
        return
    for kind, segments_per_job in KINDS.items():
        print(f"\n{kind}, {segments_per_job} segment{'s' * (segments_per_job > 1)} a job, {arguments.format}\n")
        print(HEADER)
        for hourly in HOURLY:
            print(row(demand(hourly, segments_per_job), measured, arguments.seconds), flush=True)


if __name__ == "__main__":
    main()
