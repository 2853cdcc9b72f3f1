"""What the engine is asked for follows from segment, voice and checkpoint alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from reading.plan.plan import PlanSegment
from rhapsode.contract.jobs.narration import Narration
from rhapsode.contract.jobs.options import Sampling
from rhapsode.contract.jobs.states import JobClass
from storage.ids import JobId, TenantId
from storage.jobs.work_items import ClaimedItem, Lease
from storage.narration.spec import NarrationSpec
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
from worker.synthesis.manners import REROLL_TEMPERATURE, Manner
from worker.synthesis.speech_requests import built_in_conditioning, effective_sampling, frame_limit, speech_request
from worker.synthesis.spoken_segment import spoken_segment

SPEC = NarrationSpec(Narration(model="m", voice="ada", language="english", instructions="softly", seed=5))
ITEM = ClaimedItem(Lease(JobId("job_1"), TenantId("t"), "2", 9), 1, 0, SPEC, "in", "plan", None)
SEGMENT = spoken_segment(ITEM, PlanSegment(2, 10, 30, "Two\n  words.", 0.25))
OWN = SamplingParams(TokenSampling(0.9, 50, 1.0), TokenSampling(0.8, 40, 0.9), 1.05)
ALOUD = Manner(1, 3, OWN, ("Two words.",))


@pytest.fixture(scope="module")
def info() -> EngineInfo:
    engine = FakeEngine(FakeEngineSettings())
    engine.close()
    return engine.info


def test_a_built_in_voice_is_a_speaker_with_an_instruction(info: EngineInfo) -> None:
    conditioning = built_in_conditioning(SEGMENT.voice, SEGMENT.instructions, "m", info)

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
    conditioning = built_in_conditioning(
        SEGMENT.voice, SEGMENT.instructions, "m", replace(info, task=ModelTask.VOICE_DESIGN)
    )

    assert conditioning == DesignedVoice("softly")


def test_a_model_that_only_clones_has_no_voice_of_its_own(info: EngineInfo) -> None:
    with pytest.raises(PermanentItemError, match="name an uploaded one"):
        built_in_conditioning(SEGMENT.voice, SEGMENT.instructions, "m", replace(info, task=ModelTask.BASE))


def test_without_overrides_the_checkpoint_decides() -> None:
    assert effective_sampling(OWN, Sampling()) == OWN


def test_overrides_reach_the_talker_and_leave_the_predictor() -> None:
    sampling = effective_sampling(OWN, Sampling(temperature=0.5, top_k=10, top_p=0.7, repetition_penalty=1.2))

    assert sampling == SamplingParams(TokenSampling(0.5, 10, 0.7), OWN.predictor, 1.2)


def test_temperature_zero_is_greedy_everywhere() -> None:
    sampling = effective_sampling(OWN, Sampling(temperature=0.0))

    assert (sampling.talker.temperature, sampling.predictor.temperature) == (0.0, 0.0)


def test_the_refining_codes_have_fields_of_their_own() -> None:
    asked = Sampling(subtalker_temperature=0.3, subtalker_top_k=7, subtalker_top_p=0.5)

    sampling = effective_sampling(OWN, asked)

    assert sampling == SamplingParams(OWN.talker, TokenSampling(0.3, 7, 0.5), OWN.repetition_penalty)


def test_a_greedy_talker_leaves_a_temperature_that_was_named_for_the_refining_codes() -> None:
    sampling = effective_sampling(OWN, Sampling(temperature=0.0, subtalker_temperature=0.4))

    assert (sampling.talker.temperature, sampling.predictor.temperature) == (0.0, 0.4)


def test_no_sampling_is_temperature_zero() -> None:
    assert effective_sampling(OWN, Sampling(do_sample=False)) == effective_sampling(OWN, Sampling(temperature=0.0))


def test_sampling_that_is_asked_of_a_greedy_checkpoint_draws() -> None:
    greedy = replace(OWN, talker=replace(OWN.talker, temperature=0.0))

    assert effective_sampling(greedy, Sampling(do_sample=True)).talker.temperature == REROLL_TEMPERATURE
    assert effective_sampling(OWN, Sampling(do_sample=True)) == OWN


@pytest.mark.parametrize(
    "fields",
    [
        {"do_sample": False, "temperature": 0.5},
        {"do_sample": False, "subtalker_temperature": 0.5},
        {"do_sample": True, "temperature": 0.0},
        {"max_new_tokens": 0},
        {"subtalker_top_k": 0},
        {"subtalker_top_p": 1.5},
    ],
)
def test_sampling_that_cannot_be_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Sampling.model_validate(fields)


def test_a_job_says_how_many_frames_a_segment_may_have() -> None:
    spec = SPEC.asking(sampling=Sampling(max_new_tokens=9))
    item = replace(ITEM, spec=spec)

    whole, half = (
        speech_request(item, SEGMENT, BuiltInSpeaker("ada"), manner).max_frames
        for manner in (ALOUD, Manner(2, 3, OWN, ("Two", "words.")))
    )

    assert (whole, half) == (9, 4)
    assert speech_request(ITEM, SEGMENT, BuiltInSpeaker("ada"), ALOUD).max_frames is None


def test_a_generous_limit_is_no_leave_to_speak_without_end() -> None:
    assert frame_limit("Hi.", 8_192) < 100
    assert frame_limit("Hi." * 1_000, 8_192) == 8_192
