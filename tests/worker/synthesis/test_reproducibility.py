"""What `strict` promises is kept by workers that can, without what others have spoken; a job says what spoke it."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rhapsode.contract.jobs.options import Reproducibility
from storage.jobs.record import JobRecord
from tests.worker.studio import GPU_QUEUE, SPEC, Studio
from worker.engine.config_digest import configured
from worker.engine.fake import FakeEngine
from worker.engine.interface import EngineInfo
from worker.engine.profiles import EngineReproducibility as EngineReproducibility
from worker.engine.profiles import ServingProfile
from worker.engine.settings import (
    EngineSettings,
    FakeEngineSettings,
    NativeEngineSettings,
    VllmEngineSettings,
)

STRICT = SPEC.asking(reproducibility=Reproducibility.STRICT)
ANYWHERE = Path("/nowhere")


class CarelessEngine(FakeEngine):
    """The fake engine as one whose rounding depends on the company."""

    def __init__(self, settings: FakeEngineSettings) -> None:
        super().__init__(settings)
        self.info = replace(self.info, reproducibility=EngineReproducibility.BEST_EFFORT)


@contextmanager
def speaking_with(studio: Studio, engine: FakeEngine) -> Generator[Studio]:
    try:
        yield replace(studio, services=replace(studio.services, engine=engine))
    finally:
        engine.close()


@pytest.fixture(scope="module")
def info() -> EngineInfo:
    engine = FakeEngine(FakeEngineSettings())
    engine.close()
    return engine.info


def manifest_of(studio: Studio, record: JobRecord) -> dict[str, Any]:
    return json.loads(studio.artifacts.get(next(each.key for each in record.artifacts if each.type == "manifest")))


def test_a_worker_that_cannot_see_to_it_leaves_the_segment_to_one_that_can(studio: Studio) -> None:
    job = studio.submit("One sentence.", STRICT)
    studio.run_until(GPU_QUEUE)

    with speaking_with(studio, CarelessEngine(FakeEngineSettings(slots=4, step_s=0.0))) as careless:
        careless.run_one(GPU_QUEUE)

    record = studio.record(job)
    assert (record.segments.done, record.retries, record.error) == (0, 0, None)
    assert studio.jobs.reap().leases_expired == 0


def test_a_strict_job_takes_no_speech_of_another_engine_s_setup(studio: Studio) -> None:
    first = studio.submit("One sentence.", STRICT)
    studio.drain()
    same, other = studio.submit("One sentence.", STRICT), studio.submit("One sentence.")
    studio.drain()
    with speaking_with(studio, FakeEngine(FakeEngineSettings(slots=8, step_s=0.0))) as elsewhere:
        different = elsewhere.submit("One sentence.", STRICT)
        elsewhere.drain()

    reused = [studio.record(job).segments.reused for job in (first, same, other, different)]
    assert reused == [0, 1, 0, 0]


def test_a_finished_job_and_its_manifest_say_what_spoke_it(studio: Studio) -> None:
    job = studio.submit("One sentence. Another one.", STRICT)
    studio.drain()

    record, info = studio.record(job), studio.services.engine.info
    manifest = manifest_of(studio, record)

    assert (record.spoken_by.model_revision, record.spoken_by.voice_cache) == (info.revision, None)
    assert record.spoken_by.config_sha256 == info.config_sha256
    assert manifest["config_sha256"] == [info.config_sha256]
    assert {row["config_sha256"] for row in manifest["segments"]} == {info.config_sha256}
    assert manifest["request"]["reproducibility"] == "strict"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (NativeEngineSettings(ANYWHERE), "strict"),
        (NativeEngineSettings(ANYWHERE, device="cuda"), "best_effort"),
        (NativeEngineSettings(ANYWHERE, device="cuda", reproducibility=EngineReproducibility.STRICT), "strict"),
        (NativeEngineSettings(ANYWHERE, device="mps"), "best_effort"),
        (VllmEngineSettings(ANYWHERE), "best_effort"),
        (FakeEngineSettings(), "strict"),
    ],
)
def test_what_an_engine_can_promise_follows_from_its_settings(
    info: EngineInfo, settings: EngineSettings, expected: str
) -> None:
    assert configured(info, settings).reproducibility == expected


def test_equal_setups_have_equal_digests_and_others_do_not(info: EngineInfo) -> None:
    native = NativeEngineSettings(ANYWHERE)
    variants: list[EngineSettings] = [
        native,
        replace(native, profile=ServingProfile.LATENCY),
        replace(native, device="cuda:0"),
        replace(native, num_threads=3),
        VllmEngineSettings(ANYWHERE),
    ]

    digests = [configured(info, each).config_sha256 for each in variants]
    fewer_slots = configured(replace(info, slots=1), native).config_sha256

    assert configured(info, replace(native, checkpoint=Path("/elsewhere"))).config_sha256 == digests[0]
    assert configured(info, replace(native, device="cuda:1")).config_sha256 == digests[2]
    assert len({*digests, fewer_slots}) == len(variants) + 1
