"""The first frame of a stream: beside the frames in flight, and in whose order the device is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from worker.engine.cuda.talker.capture_plan import capture_plan, opening_plan
from worker.engine.cuda.talker.frame_executor import Packet
from worker.engine.cuda.talker.lane import LaneShape, OpeningFrames, SlotTalkerLane
from worker.engine.cuda.talker.prefill.pack import SlotAdmission
from worker.engine.cuda.talker.scheduler import SlotScheduler
from worker.engine.interface import SamplingParams, Urgency
from worker.engine.profiles import AdmissionPolicy, EngineReproducibility
from worker.engine.requests.prompt import NO_ID, PromptLayout
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.serving.chunks import ChunkPlan
from worker.engine.serving.talker_lane import MoreText

SLOTS, CODEBOOKS = 2, 4


@dataclass
class Step:
    """A step that is done when the test says so."""

    slots: Sequence[int]
    done: bool = False
    ends: RowEnd = RowEnd.RUNNING

    def is_done(self) -> bool:
        return self.done

    def wait(self) -> Packet:
        assert self.done, "the lane waits for a step though another is done"
        packet = np.ones((len(self.slots), CODEBOOKS + 1), dtype=np.int16)
        packet[:, -1] = self.ends
        return packet


@dataclass
class Device:
    """Keeps what it is told, in order."""

    told: list[tuple[object, ...]] = field(default_factory=list)

    def launch_prompts(self, slots: Sequence[int], behind_frames: bool) -> None:
        self.told.append(("prompts", *slots, "behind" if behind_frames else "beside"))


@dataclass
class Prompts:
    device: Device

    def launch(self, admissions: Sequence[SlotAdmission], num_tokens: int, *, behind_frames: bool) -> None:
        self.device.launch_prompts([admission.slot for admission in admissions], behind_frames)

    def join(self) -> None:
        self.device.told.append(("join",))

    def extend(self, slot: int, start: int, ids: Sequence[int], max_frames: int) -> None:
        self.device.told.append(("text", slot))


@dataclass
class Frames:
    device: Device
    name: str
    steps: list[Step] = field(default_factory=list)

    def launch(self, slots: Sequence[int]) -> Step:
        self.device.told.append((self.name, *slots))
        self.steps.append(Step(list(slots)))
        return self.steps[-1]


@dataclass
class Clock:
    """The part of `time` that the lane uses."""

    now_s: float = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Rig:
    def __init__(self, num_live: int = 3) -> None:
        self.device = Device()
        self.frames, self.openings = Frames(self.device, "frame"), Frames(self.device, "opening")
        self.lane = SlotTalkerLane(
            Prompts(self.device),
            self.frames,
            SlotScheduler(SLOTS, num_live, AdmissionPolicy(max_prefill_rows=256)),
            capture_plan(SLOTS + num_live, 256, EngineReproducibility.BEST_EFFORT),
            LaneShape(SLOTS + num_live, 256, CODEBOOKS),
            max_in_flight=2,
            chunks=ChunkPlan(1, 4),
            openings=OpeningFrames(self.openings, 2),
        )

    def begin(self, name: str, *, is_open: bool = False, is_streamed: bool = True) -> RequestState:
        request = stream(name, is_open=is_open, is_streamed=is_streamed)
        self.lane.add(request)
        return request

    def look(self) -> None:
        """The lane goes as far as it can without a step being done."""
        assert self.lane.step(lambda: True).was_cut_short

    def running(self) -> None:
        """One that is spoken, with two frames in flight."""
        self.begin("running")
        self.look()
        self.device.told.clear()


def stream(name: str, *, is_open: bool = False, is_streamed: bool = True) -> RequestState:
    ids = np.arange(8)
    layout = PromptLayout(ids, np.full(8, NO_ID), np.arange(3), num_text_tokens=8)
    return RequestState(
        name, layout, SamplingParams(), 1, 40, urgency=Urgency.LIVE, is_streamed=is_streamed, is_open=is_open
    )


def test_the_first_frame_waits_for_none_in_flight_and_is_handed_on_before_they_are_done() -> None:
    rig = Rig()
    rig.running()

    newcomer = rig.begin("new")
    rig.look()

    assert rig.device.told == [("prompts", 3, "beside"), ("opening", 3)]
    rig.openings.steps[0].done = True
    step = rig.lane.step(lambda: False)
    assert [part.request for part in step.parts] == [newcomer]
    assert step.admitted[-1] is newcomer
    assert not any(step.done for step in rig.frames.steps)


def test_it_joins_the_others_once_its_first_frame_is_read() -> None:
    rig = Rig()
    rig.running()
    rig.begin("new")
    rig.look()

    rig.frames.steps[0].done = True
    rig.lane.step(lambda: False)
    rig.look()
    assert rig.device.told[-1] == ("frame", 2)
    rig.openings.steps[0].done = True
    rig.lane.step(lambda: False)
    rig.frames.steps[1].done = True
    rig.lane.step(lambda: False)
    rig.look()

    assert rig.device.told[-1] == ("frame", 2, 3)


def test_alone_it_is_no_step_of_its_own() -> None:
    rig = Rig()

    rig.begin("alone")
    rig.look()

    assert rig.device.told == [("prompts", 2, "beside"), ("join",), ("frame", 2), ("frame", 2)]


@pytest.mark.parametrize(("heard", "opens"), [(15, True), (16, False)])
def test_beside_many_that_are_heard_nobody_begins_apart(heard: int, opens: bool) -> None:
    rig = Rig(num_live=20)
    for number in range(heard):
        rig.begin(str(number))
    rig.look()
    rig.device.told.clear()

    rig.begin("new")
    rig.look()

    assert (("opening", 2 + heard) in rig.device.told) == opens


@pytest.mark.parametrize("fields", [{"is_open": True}, {"is_streamed": False}])
def test_whoever_does_not_open_joins_the_next_frame_behind_its_prompt(fields: dict[str, bool]) -> None:
    rig = Rig()
    rig.running()

    rig.begin("new", **fields)
    rig.look()
    assert rig.device.told == [("prompts", 3, "beside"), ("join",)]
    rig.frames.steps[0].done = True
    rig.lane.step(lambda: False)
    rig.look()

    assert rig.device.told[-1] == ("frame", 2, 3)


def test_the_prompt_of_a_slot_that_a_frame_in_flight_still_has_goes_behind_it() -> None:
    rig = Rig()
    rig.running()
    others = [rig.begin(str(number)) for number in range(2)]
    rig.look()
    for step in rig.openings.steps:
        step.done = True
    rig.lane.step(lambda: False)
    rig.frames.steps[0].done = True
    rig.lane.step(lambda: False)
    rig.look()
    assert rig.device.told[-1] == ("frame", 2, 3, 4)
    rig.device.told.clear()

    rig.lane.cancel(others[0])
    rig.begin("next")
    rig.look()

    assert rig.device.told == [("prompts", 3, "behind"), ("opening", 3)]


def test_the_prompt_of_a_slot_whose_text_was_just_extended_goes_behind_that() -> None:
    rig = Rig()
    rig.running()
    writer = rig.begin("writer", is_open=True)
    rig.look()
    rig.begin("other")
    rig.look()
    rig.lane.extend(MoreText(writer, [1, 2], 40, is_last=False))
    rig.lane.cancel(writer)
    rig.device.told.clear()

    rig.begin("next")
    rig.look()

    assert rig.device.told[0] == ("prompts", 3, "behind")


def test_one_that_was_cancelled_while_it_opened_says_nothing_to_the_slots_next_owner() -> None:
    rig = Rig()
    rig.running()
    first = rig.begin("first")
    rig.look()
    rig.lane.cancel(first)
    rest = [rig.begin(str(number)) for number in range(2)]
    rig.look()

    rig.openings.steps[0].done = True
    step = rig.lane.step(lambda: False)

    assert step.num_frames == 0
    assert not step.parts
    assert list(step.admitted)[1:] == [first, *rest]
    assert all(request.frames == 0 for request in rest)


def test_one_that_ends_with_its_first_frame_leaves() -> None:
    rig = Rig()
    rig.running()
    newcomer = rig.begin("new")
    rig.look()

    rig.openings.steps[0].done, rig.openings.steps[0].ends = True, RowEnd.NON_FINITE
    (ended,) = rig.lane.step(lambda: False).ended

    assert ended.request is newcomer
    assert rig.lane.has_work


def test_more_than_an_opening_has_rows_for_join_the_next_frame() -> None:
    rig = Rig(num_live=4)
    rig.running()

    for number in range(3):
        rig.begin(str(number))
    rig.look()

    assert rig.device.told == [("prompts", 3, 4, 5, "beside"), ("join",), ("opening", 3, 4)]


def test_behind_an_opening_whoever_comes_soon_joins_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("worker.engine.cuda.talker.lane.time", clock)
    rig = Rig(num_live=4)
    rig.running()
    rig.begin("first")
    rig.look()
    clock.now_s += 0.004
    rig.openings.steps[0].done = True
    rig.lane.step(lambda: False)

    clock.now_s += 0.015
    rig.begin("soon")
    rig.look()
    clock.now_s += 0.002
    rig.begin("later")
    rig.look()

    assert [told for told in rig.device.told if told[0] == "opening"] == [("opening", 3), ("opening", 5)]


def test_the_plan_of_openings_has_the_small_steps_alone_and_strict_has_none() -> None:
    best_effort = opening_plan(capture_plan(64, 256, EngineReproducibility.BEST_EFFORT), 4)

    assert best_effort is not None
    assert best_effort.row_buckets == (1, 2, 4)
    assert opening_plan(capture_plan(64, 256, EngineReproducibility.BEST_EFFORT), 0) is None
    # A first frame in another shape than the others of its speech would round otherwise.
    assert opening_plan(capture_plan(64, 256, EngineReproducibility.STRICT), 4) is None
