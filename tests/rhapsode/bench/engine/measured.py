"""A report as an H100 might give one, with figures that nobody measured."""

from __future__ import annotations

from datetime import UTC, datetime

from rhapsode.bench.engine.report import (
    BenchReport,
    Card,
    ClosedLoop,
    Device,
    FirstAudio,
    ModelReport,
    StageFailed,
    StageLeftOut,
    Started,
)
from rhapsode.bench.report import Environment

GIB = 1 << 30


def environment() -> Environment:
    return Environment(
        version="0.1.0",
        commit="0123456789ab",
        command="rhapsode bench --price 2",
        began_at=datetime(2026, 1, 2, tzinfo=UTC),
        python="3.11.2",
        system="Linux x86_64",
        cpu="some CPU",
        cores=16,
        nvidia_driver=None,
    )


def loop(streams: int, rate: float) -> ClosedLoop:
    return ClosedLoop(streams, 8.0, 100, rate, round(rate / streams, 2), 20 * GIB)


def report() -> BenchReport:
    model = ModelReport(
        model="1.7b",
        weights="random",
        precision="bfloat16",
        request_s=(5.0, 15.0),
        started=Started(12.0, 40.0, 256, 20 * GIB, (Card(8, 12, 1024), Card(16, 80, 1024), Card(4, 0, 0))),
        closed_loop=[loop(256, 1400.4), loop(1, 30.0)],
        first_audio=[FirstAudio(32, (15.0, 17.0, 16.0)), FirstAudio(0, (8.0, 9.0, 10.0))],
        failed=[StageFailed("512 streams", "OutOfMemoryError: CUDA out of memory")],
        left_out=[StageLeftOut("64 streams", "the time was over")],
    )
    return BenchReport(
        environment=environment(),
        device=Device("cuda:0", "NVIDIA H100", "9.0", 80 * GIB, "2.11.0", "3.6.0"),
        price_per_gpu_hour=2.0,
        models=[model],
        ended="complete",
        wall_s=290.0,
    )
