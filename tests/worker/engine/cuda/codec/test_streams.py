"""Whose frames may be in the next pass, and where their states are, in any order of events. No tensors."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_tests import examples
from worker.engine.cuda.codec.stream_state import ORIGIN_SLOT
from worker.engine.cuda.codec.streams import Decode, DecodeQueue, DecodeRequest, ReferencePass
from worker.engine.interface import CodecFrames, FinishReason, SamplingParams, Urgency
from worker.engine.requests.prompt import PlacedFrames, PromptLayout
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.codec_lane import EndedFrames

SLOTS, SCRATCH = range(1, 9), 9


def request_of(
    name: str,
    reference: CodecFrames | None = None,
    *,
    urgency: Urgency = Urgency.BULK,
    is_streamed: bool = False,
) -> RequestState:
    ids = np.zeros(4, dtype=np.int64)
    placed = None if reference is None else PlacedFrames(0, reference)
    layout = PromptLayout(ids, ids, ids[:0], 1, reference=placed)
    return RequestState(name, layout, SamplingParams(), 0, 100, urgency=urgency, is_streamed=is_streamed)


def numbered(count: int, begin: int = 0) -> CodecFrames:
    """Frames whose one code counts them."""
    return np.arange(begin, begin + count, dtype=np.int16)[:, None]


def ended(request: RequestState, count: int) -> EndedFrames:
    return EndedFrames(request, numbered(count), FinishReason.EOS)


@dataclass
class Device:
    """What the passes leave in the slots: which frames a state has heard."""

    decodes: DecodeQueue
    heard: dict[int, list[int]] = field(default_factory=lambda: {ORIGIN_SLOT: []})
    said: dict[str, list[int]] = field(default_factory=dict)

    def run(self, decode: Decode, max_frames: int) -> None:
        row = self.decodes.take_row(decode, max_frames)
        codes = row.frames[:, 0].tolist()
        state = self.heard[row.read_slot] + codes
        if isinstance(decode, DecodeRequest):
            # Every part goes on from what the same utterance has said before.
            assert state[len(state) - decode.num_launched :] == list(range(decode.num_launched))
            self.said.setdefault(decode.request.request_id, []).extend(codes)
        self.heard[row.write_slot] = state

    def run_once(self, max_streams: int, max_frames: int) -> bool:
        ready = self.decodes.ready()
        if not ready:
            return False
        for decode in list(self.decodes.next_company(ready))[:max_streams]:
            self.run(decode, max_frames)
        return True


def test_what_somebody_waits_for_has_a_pass_of_its_own_and_others_their_turns() -> None:
    decodes = DecodeQueue(SLOTS, SCRATCH)
    bulk = decodes.add(ended(request_of("bulk"), 30))
    awaited = [decodes.add(ended(request_of(f"awaited {n}", urgency=Urgency.INTERACTIVE), 9)) for n in range(2)]

    companies = [list(decodes.next_company(decodes.ready())) for _ in range(5)]

    assert companies == [awaited] * 4 + [[bulk, *awaited]]


def test_streams_that_were_not_heard_yet_have_a_pass_before_those_that_were() -> None:
    decodes = DecodeQueue(SLOTS, SCRATCH)
    decodes.add_part(request_of("heard", is_streamed=True), numbered(3))
    (heard,) = decodes.ready().streams
    decodes.take_row(heard, 2)
    whole = decodes.add(ended(request_of("whole", urgency=Urgency.INTERACTIVE), 9))
    decodes.add_part(request_of("new", is_streamed=True), numbered(1))
    new = decodes.ready().streams[-1]

    first = list(decodes.next_company(decodes.ready()))
    decodes.take_row(new, 2)

    assert first == [new]
    assert list(decodes.next_company(decodes.ready())) == [whole]
    assert list(decodes.next_company(decodes.ready())) == [heard]


def test_streams_leave_slots_to_whole_utterances() -> None:
    decodes = DecodeQueue(SLOTS, SCRATCH)
    device = Device(decodes)
    streams = [request_of(f"stream {n}", is_streamed=True) for n in range(20)]
    for stream in streams:
        decodes.add_part(stream, numbered(2))
    while device.run_once(8, 2):
        pass

    assert len(device.said) == 5, "three quarters of the seven slots that no reference has"
    decodes.add(ended(request_of("bulk"), 12))
    for stream in streams:
        decodes.add(ended(stream, 5))
    while device.run_once(8, 3):
        pass

    assert device.said == {"bulk": list(range(12)), **{stream.request_id: list(range(5)) for stream in streams}}


def test_utterances_in_parts_leave_half_of_the_slots_to_streams() -> None:
    decodes = DecodeQueue(SLOTS, SCRATCH)
    device = Device(decodes)
    for number in range(20):
        decodes.add(ended(request_of(f"job {number}", urgency=Urgency.INTERACTIVE), 9))
    device.run_once(8, 2)
    device.run_once(8, 2)
    for number in range(2):
        decodes.add_part(request_of(f"stream {number}", is_streamed=True), numbered(1))
    decodes.add(ended(request_of("a word", is_streamed=True), 2))

    assert len(decodes.ready().streams) == 3


def test_while_jobs_wait_every_second_pass_is_for_streams() -> None:
    decodes = DecodeQueue(SLOTS, SCRATCH)
    device = Device(decodes)
    stream = request_of("stream", is_streamed=True)
    for number in range(3):
        decodes.add(ended(request_of(f"job {number}", urgency=Urgency.INTERACTIVE), 100))
    said = []
    for number in range(6):
        decodes.add_part(stream, numbered(1, begin=number))
        before = {name: len(codes) for name, codes in device.said.items()}
        device.run_once(8, 4)
        said.append({name for name, codes in device.said.items() if len(codes) > before.get(name, 0)})

    jobs = {f"job {number}" for number in range(3)}
    assert said == [{"stream"}, jobs] * 3


def test_a_stream_that_has_said_all_is_complete_with_its_end() -> None:
    decodes = DecodeQueue(SLOTS, SCRATCH)
    stream = request_of("stream", is_streamed=True)
    decodes.add_part(stream, numbered(2))
    (decode,) = decodes.ready().streams
    assert isinstance(decode, DecodeRequest)
    decodes.take_row(decode, 5)
    decode.parts.append(np.zeros(2, dtype=np.float32))
    assert decode.completed is None
    end = ended(stream, 2)

    assert decodes.add(end).completed is end
    assert not decodes.has_streams
    assert not decodes.ready()


def test_a_stream_begins_behind_its_voices_reference() -> None:
    decodes = DecodeQueue(SLOTS, SCRATCH)
    device = Device(decodes)
    stream = request_of("stream", numbered(3, begin=100), is_streamed=True)

    decodes.add_part(stream, numbered(2))
    assert [type(decode) for decode in decodes.ready().streams] == [ReferencePass], "the reference first"
    while device.run_once(4, 2):
        pass
    decodes.add(ended(stream, 4))
    while device.run_once(4, 2):
        pass

    assert device.said == {"stream": [0, 1, 2, 3]}
    assert device.heard[SCRATCH] == [100, 101, 102, 0, 1, 2, 3]


events = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), st.integers(1, 7), st.booleans()),
        st.tuples(st.just("grow"), st.integers(0, 30), st.integers(1, 5)),
        st.tuples(st.just("end"), st.integers(0, 30), st.integers(0, 5)),
        st.tuples(st.just("drop"), st.integers(0, 30), st.just(0)),
        st.tuples(st.just("pass"), st.integers(1, 4), st.integers(1, 4)),
    ),
    max_size=80,
)


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(events)
def test_no_order_of_events_mixes_states_or_forgets_anybody(events: list[tuple[str, int, int]]) -> None:
    decodes = DecodeQueue(SLOTS, SCRATCH)
    device = Device(decodes)
    open_streams: list[tuple[RequestState, int]] = []
    expected: dict[str, int] = {}

    for number, (event, one, other) in enumerate(events):
        match event:
            case "begin" if other:
                request = request_of(str(number), is_streamed=True)
                decodes.add_part(request, numbered(one))
                open_streams.append((request, one))
            case "begin":
                decodes.add(ended(request_of(str(number)), one))
                expected[str(number)] = one
            case "grow" if one < len(open_streams):
                request, length = open_streams[one]
                decodes.add_part(request, numbered(other, begin=length))
                open_streams[one] = (request, length + other)
            case "end" if one < len(open_streams):
                request, length = open_streams.pop(one)
                decodes.add(ended(request, length + other))
                expected[request.request_id] = length + other
            case "drop" if one < len(open_streams):
                request, _ = open_streams.pop(one)
                decodes.drop(request)
            case "pass":
                device.run_once(one, other)
            case _:
                pass

    for request, length in open_streams:
        decodes.add(ended(request, length))
        expected[request.request_id] = length
    while device.run_once(4, 4):
        pass
    said = {name: codes for name, codes in device.said.items() if name in expected}
    assert said == {name: list(range(length)) for name, length in expected.items()}
    assert not decodes.has_streams
