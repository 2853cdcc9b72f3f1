"""What the engine is asked for follows from segment, voice and checkpoint alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rhapsode.contract.jobs.narration import Narration
from rhapsode.contract.jobs.options import Sampling
from rhapsode.contract.jobs.states import JobClass
from storage.ids import JobId, TenantId
from storage.jobs.work_items import ClaimedItem, Lease
from storage.narration.spec import NarrationSpec
from storage.segments.plan import PlannedSegment
from worker.engine.fake import FakeEngine
from worker.engine.interface import (
    BuiltInSpeaker,
    DesignedVoice,
    EngineInfo,
    ModelTask,
    SamplingParams,
    TokenSampling,
    Urgency,
)
from worker.engine.settings import FakeEngineSettings
from worker.errors import PermanentItemError
from worker.synthesis.manners import Manner
from worker.synthesis.speech_requests import built_in_conditioning, effective_sampling, speech_request
from worker.synthesis.spoken_segment import spoken_segment

SPEC = NarrationSpec(Narration(model="m", voice="ada", language="english", instructions="softly", seed=5))
ITEM = ClaimedItem(Lease(JobId("job_1"), TenantId("t"), "2", 9), 1, 0, SPEC, "in", "plan", None)
SEGMENT = spoken_segment(ITEM, PlannedSegment(2, 10, 30, "Two\n  words.", 0.25))
OWN = SamplingParams(TokenSampling(0.9, 50, 1.0), TokenSampling(0.8, 40, 0.9), 1.05)
ALOUD = Manner(1, 3, OWN, ("Two words.",))


@pytest.fixture(scope="module")
def info() -> EngineInfo:
    engine = FakeEngine(FakeEngineSettings())
    engine.close()
    return engine.info


def test_a_built_in_voice_is_a_speaker_with_an_instruction(info: EngineInfo) -> None:
    conditioning = built_in_conditioning(SEGMENT, "m", info)

    assert conditioning == BuiltInSpeaker("ada", "softly")


def test_a_request_is_the_spoken_text_in_the_voice_that_was_found() -> None:
    voice = BuiltInSpeaker("ada", "softly")

    request = speech_request(ITEM, SEGMENT, voice, Manner(2, 3, OWN, ("Two", "words.")), part=1)

    assert request.conditioning is voice
    assert request.sampling is OWN
    assert (request.text, request.language, request.seed) == ("words.", "english", 3)
    assert request.request_id == "job_1/2/9/2.1"


def test_what_somebody_waits_for_says_so_to_the_engine() -> None:
    interactive = replace(ITEM, job_class=JobClass.INTERACTIVE)

    urgencies = [speech_request(item, SEGMENT, BuiltInSpeaker("ada"), ALOUD).urgency for item in (ITEM, interactive)]

    assert urgencies == [Urgency.BULK, Urgency.INTERACTIVE]


def test_the_first_segment_of_a_job_is_its_opening() -> None:
    second = replace(SEGMENT, index=SEGMENT.index + 1)
    first = replace(SEGMENT, index=0)

    assert speech_request(ITEM, first, BuiltInSpeaker("ada"), ALOUD).is_opening
    assert not speech_request(ITEM, second, BuiltInSpeaker("ada"), ALOUD).is_opening


def test_a_designed_voice_is_described_by_the_instructions(info: EngineInfo) -> None:
    conditioning = built_in_conditioning(SEGMENT, "m", replace(info, task=ModelTask.VOICE_DESIGN))

    assert conditioning == DesignedVoice("softly")


def test_a_model_that_only_clones_has_no_voice_of_its_own(info: EngineInfo) -> None:
    with pytest.raises(PermanentItemError, match="name one that was uploaded"):
        built_in_conditioning(SEGMENT, "m", replace(info, task=ModelTask.BASE))


def test_without_overrides_the_checkpoint_decides() -> None:
    assert effective_sampling(OWN, Sampling()) == OWN


def test_overrides_reach_the_talker_and_leave_the_predictor() -> None:
    sampling = effective_sampling(OWN, Sampling(temperature=0.5, top_k=10, top_p=0.7, repetition_penalty=1.2))

    assert sampling == SamplingParams(TokenSampling(0.5, 10, 0.7), OWN.predictor, 1.2)


def test_temperature_zero_is_greedy_everywhere() -> None:
    sampling = effective_sampling(OWN, Sampling(temperature=0.0))

    assert (sampling.talker.temperature, sampling.predictor.temperature) == (0.0, 0.0)
