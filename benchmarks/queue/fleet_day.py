"""What so many hours of audio a day take, on paper: parts, requests, money, and which part breaks first.

Adds up what was measured, as `fleet.py` has it, for one kind of work; `fleet.py --hours-a-day` prints it. Prices are
assumptions and stand as such: list prices of large clouds in late 2026, to be replaced by one's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.queue.fleet_model import Measured

PEAK = 1.4
"""The busiest hour to the mean of the day."""

GPU_BUSY, OTHERS_BUSY = 0.85, 0.7
SPARE_GPUS = 2


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars: of a GPU and of a core for an hour, of a million requests, of a gigabyte kept for a month."""

    gpu_hour: float = 3.0
    core_hour: float = 0.035
    million_puts: float = 5.0
    million_gets: float = 0.4
    gigabyte_month: float = 0.023


@dataclass(frozen=True, slots=True)
class Work:
    """One kind: segments of a job, and what was measured of them beside `Measured`.

    cores_s: seconds of a core that a segment takes around the engine, encoding apart. puts: objects written for a
    segment, those of its job shared out. gets: read. webhooks: of a job.
    """

    name: str
    segments_per_job: int
    segment_audio_s: float
    redis_segment_s: float
    cores_s: float
    puts: float
    gets: float
    webhooks: float


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one instance of a part. webhook_s, webhook_redis_s: seconds of a core and of Redis for a delivery.

    prefix_puts_per_s: what an S3 prefix takes before it is divided; a tenant's objects begin alike. pcm_bytes_per_s:
    of a second of speech as a segment is stored. kept_bytes_per_s: of a second in the file that is kept.
    """

    webhook_s: float
    webhook_redis_s: float
    prefix_puts_per_s: float
    pcm_bytes_per_s: float
    kept_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Part:
    """needed: at the mean load, every one of them full. bought: for the busiest hour, none too full. dollars: a day.

    breaks_at: hours of audio a day, evenly over it, at which one instance is as full as it should be; None for what is
    bought with the load.
    """

    name: str
    needed: float
    bought: str
    dollars: float
    breaks_at: float | None = None


def parts_of(hours_a_day: float, work: Work, measured: Measured, limits: Limits, prices: Prices) -> Sequence[Part]:
    audio_s = hours_a_day * 3600 / 86_400
    segments = audio_s / work.segment_audio_s
    jobs = segments / work.segments_per_job
    webhooks = jobs * work.webhooks
    cores = segments * work.cores_s + audio_s / measured.encode_audio_per_core_s
    redis = segments * work.redis_segment_s + webhooks * limits.webhook_redis_s
    api, hooks, puts = jobs * measured.api_submit_s, webhooks * limits.webhook_s, segments * work.puts
    gpus = audio_s / measured.pace(measured.slots)
    bought_gpus = math.ceil(gpus * PEAK / GPU_BUSY) + SPARE_GPUS
    valkeys, apis, hook_workers, prefixes = (
        math.ceil(each * PEAK / OTHERS_BUSY) for each in (redis, api, hooks, puts / limits.prefix_puts_per_s)
    )
    bought_cores = math.ceil(cores * PEAK / OTHERS_BUSY)
    kept_gb = audio_s * 86_400 * limits.kept_bytes_per_s / 1e9

    def full_at(one: float) -> float:
        """Where a single one is as full as it should be."""
        return hours_a_day * OTHERS_BUSY / one

    return (
        Part("GPUs (H200, 1.7B)", gpus, f"{bought_gpus}", bought_gpus * 24 * prices.gpu_hour),
        Part("cores around the engines", cores, f"{bought_cores}", bought_cores * 24 * prices.core_hour),
        Part(
            "Valkey with a replica",
            redis,
            f"{valkeys}",
            2 * valkeys * 24 * prices.core_hour,
            full_at(redis),
        ),
        Part("API processes", api, f"{apis}", apis * 24 * prices.core_hour, full_at(api)),
        *(
            [Part("webhook processes", hooks, f"{hook_workers}", hook_workers * 24 * prices.core_hour, full_at(hooks))]
            if webhooks
            else []
        ),
        Part(
            "prefixes of S3, for PUTs",
            puts / limits.prefix_puts_per_s,
            f"{prefixes}, as tenants have; {puts:,.0f} PUTs a second",
            puts * 86_400 / 1e6 * prices.million_puts,
            hours_a_day * limits.prefix_puts_per_s / puts,
        ),
        Part(
            "GETs a second",
            segments * work.gets,
            "",
            segments * work.gets * 86_400 / 1e6 * prices.million_gets,
        ),
        Part("GB/s of samples, in and out", 2 * audio_s * limits.pcm_bytes_per_s / 1e9, "", 0.0),
        Part("TB kept of a day", kept_gb / 1000, "each for a month", kept_gb * prices.gigabyte_month),
    )


def table(hours_a_day: float, work: Work, measured: Measured, limits: Limits, prices: Prices) -> str:
    parts = parts_of(hours_a_day, work, measured, limits, prices)
    rows = [
        "| part | at the mean load | bought | dollars a day | one is full at hours a day |",
        "|---|---:|---|---:|---:|",
        *(
            f"| {part.name} | {part.needed:,.2f} | {part.bought} | {part.dollars:,.0f} | "
            f"{'' if part.breaks_at is None else f'{part.breaks_at:,.0f}'} |"
            for part in parts
        ),
    ]
    dollars = sum(part.dollars for part in parts)
    order = ", then ".join(f"{part.name} ({part.breaks_at:,.0f})" for part in in_order_of_breaking(parts))
    cost = f"{dollars:,.0f} dollars a day, {dollars / hours_a_day:.4f} for an hour of audio."
    return "\n".join((*rows, "", f"{cost} If there is one of each, what is full first, at hours a day: {order}."))


def in_order_of_breaking(parts: Sequence[Part]) -> list[Part]:
    """Those of which one is not enough at some load, the first first."""
    return sorted((part for part in parts if part.breaks_at is not None), key=lambda part: part.breaks_at or 0.0)
