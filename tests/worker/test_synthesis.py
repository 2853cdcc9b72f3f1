"""What the engine is asked for follows from item, plan and checkpoint alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.jobs import ClaimedItem, JobId, Lease, NarrationSpec, SamplingOverrides, TenantId
from storage.plan import PlannedSegment
from worker.engine.fake import FakeEngine
from worker.engine.interface import (
    BuiltInSpeaker,
    DesignedVoice,
    EngineInfo,
    ModelTask,
    SamplingParams,
    TokenSampling,
)
from worker.engine.settings import FakeEngineSettings
from worker.errors import PermanentItemError
from worker.synthesis import built_in_conditioning, effective_sampling, segment_seed, speech_request

SPEC = NarrationSpec(model="m", voice="ada", language="english", instructions="softly", seed=5)
ITEM = ClaimedItem(Lease(JobId("job_1"), TenantId("t"), "2", 9), 1, 0, SPEC, "in", "plan", None)
PLANNED = PlannedSegment(2, 10, 30, "Two\n  words.", 0.25)
OWN = SamplingParams(TokenSampling(0.9, 50, 1.0), TokenSampling(0.8, 40, 0.9), 1.05)


@pytest.fixture(scope="module")
def info() -> EngineInfo:
    engine = FakeEngine(FakeEngineSettings())
    engine.close()
    return engine.info


def test_a_built_in_voice_is_a_speaker_with_an_instruction(info: EngineInfo) -> None:
    conditioning = built_in_conditioning(SPEC, info)

    assert conditioning == BuiltInSpeaker("ada", "softly")


def test_a_request_is_the_planned_text_in_the_voice_that_was_found(info: EngineInfo) -> None:
    voice = BuiltInSpeaker("ada", "softly")

    request = speech_request(ITEM, PLANNED, voice, info)

    assert request.conditioning is voice
    assert request.text == "Two words."
    assert request.language == "english"
    assert request.request_id == "job_1/2/9"
    assert request.seed == segment_seed(5, 2)


def test_a_designed_voice_is_described_by_the_instructions(info: EngineInfo) -> None:
    conditioning = built_in_conditioning(SPEC, replace(info, task=ModelTask.VOICE_DESIGN))

    assert conditioning == DesignedVoice("softly")


def test_a_model_that_only_clones_has_no_voice_of_its_own(info: EngineInfo) -> None:
    with pytest.raises(PermanentItemError, match="name one that was uploaded"):
        built_in_conditioning(SPEC, replace(info, task=ModelTask.BASE))


def test_without_overrides_the_checkpoint_decides() -> None:
    assert effective_sampling(OWN, SamplingOverrides()) == OWN


def test_overrides_reach_the_talker_and_leave_the_predictor() -> None:
    sampling = effective_sampling(OWN, SamplingOverrides(0.5, 10, 0.7, 1.2))

    assert sampling == SamplingParams(TokenSampling(0.5, 10, 0.7), OWN.predictor, 1.2)


def test_temperature_zero_is_greedy_everywhere() -> None:
    sampling = effective_sampling(OWN, SamplingOverrides(temperature=0.0))

    assert (sampling.talker.temperature, sampling.predictor.temperature) == (0.0, 0.0)


def test_segment_seeds_never_change() -> None:
    """Recorded: another value would give every narration another sound at the next release."""
    assert [segment_seed(0, 0), segment_seed(0, 1), segment_seed(7, 0)] == [
        2956038237351930,
        8606620379830342,
        7766747262878076,
    ]


@given(st.integers(0, 2**63), st.integers(0, 100_000))
def test_segment_seeds_are_exact_in_json_and_differ(seed: int, index: int) -> None:
    assert 0 <= segment_seed(seed, index) < 2**53
    assert segment_seed(seed, index) != segment_seed(seed, index + 1)
