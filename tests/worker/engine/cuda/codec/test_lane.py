"""The batched lane delivers every utterance once, whole, in whatever passes it went through."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest
import torch

from worker.engine.cuda.codec.kernels.causal_conv import causal_conv
from worker.engine.cuda.codec.lane import BatchedCodecLane, PassTrigger
from worker.engine.cuda.codec.pass_runner import DevicePasses
from worker.engine.cuda.codec.plan import CodecPlan, PassShape
from worker.engine.cuda.codec.weights import CodecWeights, Placement
from worker.engine.interface import CodecFrames, FinishReason, Pcm, SamplingParams, SpeechChunk
from worker.engine.model.codec_decoder import CodecDecoder
from worker.engine.requests.prompt import PlacedFrames, PromptLayout
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.codec_lane import EndedFrames
from worker.engine.serving.talker_lane import SpeechPart

SAMPLES_PER_FRAME = 8
BESIDE_STREAMS = 400
PLAN = CodecPlan((PassShape(2, 5), PassShape(1, 2), PassShape(3, 2)), frozenset(), num_streams=3)


class Listener:
    """The engine's side of a lane, as far as a lane sees it."""

    def __init__(self) -> None:
        self.heard: dict[str, Pcm] = {}
        self.parts: dict[str, list[Pcm]] = {}
        self.frames: dict[str, list[CodecFrames]] = {}
        self.unwanted: set[str] = set()
        self.in_flight = 0
        self._changed = threading.Condition()

    def is_wanted(self, request: RequestState) -> bool:
        return request.request_id not in self.unwanted

    def deliver_part(self, request: RequestState, part: SpeechChunk) -> None:
        with self._changed:
            assert len(part.pcm) == len(part.frames) * SAMPLES_PER_FRAME
            self.parts.setdefault(request.request_id, []).append(part.pcm)
            self.frames.setdefault(request.request_id, []).append(part.frames)
            self._changed.notify_all()

    def deliver(self, utterance: EndedFrames, pcm: Pcm) -> None:
        with self._changed:
            assert utterance.request.request_id not in self.heard
            self.heard[utterance.request.request_id] = pcm
            self._changed.notify_all()

    @property
    def num_in_flight(self) -> int:
        return self.in_flight

    def run_guarded(self, work: Callable[[], None]) -> None:
        with torch.inference_mode():
            work()

    def wait_for_parts(self, name: str, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.parts.get(name, ())) >= count, timeout=120)

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.heard) >= count, timeout=120)


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def lane(small_decoder: CodecDecoder, device: torch.device) -> Iterator[BatchedCodecLane]:
    weights = CodecWeights.of(small_decoder, Placement(device, torch.float32))
    lane = BatchedCodecLane(
        DevicePasses(weights, PLAN, causal_conv), PLAN, SAMPLES_PER_FRAME, PassTrigger(10, 0, 0.05, 0), BESIDE_STREAMS
    )
    yield lane
    lane.close()
    lane.join()


def random_frames(num_frames: int, seed: int) -> CodecFrames:
    return np.random.default_rng(seed).integers(0, 16, size=(num_frames, 4), dtype=np.int16)


def utterance(name: str, frames: CodecFrames, reference: CodecFrames | None = None) -> EndedFrames:
    ids = np.zeros(4, dtype=np.int64)
    placed = None if reference is None else PlacedFrames(0, reference)
    prompt = PromptLayout(ids, ids, ids[:0], 1, reference=placed)
    return EndedFrames(RequestState(name, prompt, SamplingParams(), 0, 100), frames, FinishReason.EOS)


def plain_samples(decoder: CodecDecoder, frames: CodecFrames) -> Pcm:
    with torch.inference_mode():
        return decoder(torch.from_numpy(frames.astype(np.int64)), decoder.new_stream()).numpy()


def test_utterances_of_all_lengths_are_delivered_whole(
    lane: BatchedCodecLane, listener: Listener, small_decoder: CodecDecoder
) -> None:
    frames = {f"u{length}": random_frames(length, seed=length) for length in (1, 7, 3)}
    for name, some in frames.items():
        lane.put(utterance(name, some))

    lane.start(listener)
    listener.wait_for(len(frames))

    for name, some in frames.items():
        assert np.abs(listener.heard[name] - plain_samples(small_decoder, some)).max() <= 1e-5
    assert lane.counters.fallbacks > 0


def test_a_reference_is_heard_first_and_dropped(
    lane: BatchedCodecLane, listener: Listener, small_decoder: CodecDecoder
) -> None:
    reference, frames = random_frames(6, seed=1), random_frames(3, seed=2)

    lane.start(listener)
    lane.put(utterance("clone", frames, reference))
    listener.wait_for(1)

    expected = plain_samples(small_decoder, np.concatenate((reference, frames)))[6 * SAMPLES_PER_FRAME :]
    assert np.abs(listener.heard["clone"] - expected).max() <= 1e-5


def test_a_reference_is_decoded_once_for_all_that_go_on_from_it(
    small_decoder: CodecDecoder, device: torch.device, listener: Listener
) -> None:
    roomy = CodecPlan(PLAN.shapes, frozenset(), num_streams=8)
    weights = CodecWeights.of(small_decoder, Placement(device, torch.float32))
    passes = DevicePasses(weights, roomy, causal_conv)
    lane = BatchedCodecLane(passes, roomy, SAMPLES_PER_FRAME, PassTrigger(1, 0, 0.0, 0), BESIDE_STREAMS)
    references = {"a": random_frames(4, seed=1), "b": random_frames(3, seed=2)}
    frames = random_frames(2, seed=3)

    for name in ("a1", "a2", "b1", "a3"):
        lane.put(utterance(name, frames, references[name[0]]))
    lane.start(listener)
    listener.wait_for(4)
    lane.close()
    lane.join()

    for name, pcm in listener.heard.items():
        reference = references[name[0]]
        whole = plain_samples(small_decoder, np.concatenate((reference, frames)))
        assert np.abs(pcm - whole[len(reference) * SAMPLES_PER_FRAME :]).max() <= 1e-5
    # The one warm slot is the first voice's; the second voice's reference is decoded with its utterance.
    assert passes.counters.frames == 4 + 3 * 2 + (3 + 2)


def test_a_stream_is_heard_part_by_part_and_is_its_utterance(
    lane: BatchedCodecLane, listener: Listener, small_decoder: CodecDecoder
) -> None:
    frames, reference = random_frames(5, seed=1), random_frames(2, seed=2)
    whole = utterance("stream", frames, reference)
    whole.request.is_streamed = True
    given_up = utterance("given up", frames).request
    given_up.is_streamed = True
    listener.in_flight = 100
    lane.start(listener)

    lane.put_part(SpeechPart(given_up, frames[:1]))
    lane.put_part(SpeechPart(whole.request, frames[:1]))
    listener.wait_for_parts("stream", 1)
    lane.drop(given_up)
    lane.put_part(SpeechPart(whole.request, frames[1:3]))
    listener.wait_for_parts("stream", 2)
    lane.put(whole)
    listener.wait_for(1)

    expected = plain_samples(small_decoder, np.concatenate((reference, frames)))[2 * SAMPLES_PER_FRAME :]
    assert np.abs(listener.heard["stream"] - expected).max() <= 1e-5
    np.testing.assert_array_equal(np.concatenate(listener.parts["stream"]), listener.heard["stream"])
    assert set(listener.heard) == {"stream"}


@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize(("num_prefix", "part_ends"), [(6, (1, 3)), (7, ())])
def test_what_goes_on_behind_a_prefix_has_the_samples_of_the_rest(
    lane: BatchedCodecLane,
    listener: Listener,
    small_decoder: CodecDecoder,
    num_prefix: int,
    part_ends: tuple[int, ...],
    is_streamed: bool,
) -> None:
    """As after the death of a decoder, also where all was delivered before it. part_ends: of the frames behind it."""
    frames = random_frames(num_prefix + (part_ends[-1] if part_ends else 0), seed=num_prefix)
    ended = utterance("again", frames[num_prefix:])
    ended.request.prefix, ended.request.is_streamed = frames[:num_prefix], is_streamed

    lane.start(listener)
    for begin, end in pairwise((0, *part_ends[:-1])) if is_streamed else ():
        lane.put_part(SpeechPart(ended.request, ended.frames[begin:end]))
    lane.put(ended)
    listener.wait_for(1)

    expected = plain_samples(small_decoder, frames)[num_prefix * SAMPLES_PER_FRAME :]
    assert listener.heard["again"].shape == expected.shape
    assert np.abs(listener.heard["again"] - expected).max(initial=0) <= 1e-5
    assert sum(map(len, listener.frames.get("again", ()))) == (len(ended.frames) if is_streamed else 0)


def test_an_utterance_without_frames_has_no_samples(lane: BatchedCodecLane, listener: Listener) -> None:
    lane.start(listener)
    lane.put(utterance("empty", random_frames(0, seed=0)))
    listener.wait_for(1)

    assert listener.heard["empty"].shape == (0,)


def test_what_is_not_wanted_any_more_is_not_decoded(lane: BatchedCodecLane, listener: Listener) -> None:
    listener.unwanted.add("cancelled")
    lane.put(utterance("cancelled", random_frames(4, seed=1)))
    lane.put(utterance("wanted", random_frames(2, seed=2)))

    lane.start(listener)
    listener.wait_for(1)

    assert set(listener.heard) == {"wanted"}
    assert lane.counters.fallbacks == 1


def test_it_waits_for_company_only_where_there_is_some(
    small_decoder: CodecDecoder, device: torch.device, listener: Listener
) -> None:
    weights = CodecWeights.of(small_decoder, Placement(device, torch.float32))
    lane = BatchedCodecLane(
        DevicePasses(weights, PLAN, causal_conv),
        PLAN,
        SAMPLES_PER_FRAME,
        PassTrigger(1000, 0, 3600.0, least_company=4),
        BESIDE_STREAMS,
    )
    lane.start(listener)

    listener.in_flight = 1
    lane.put(utterance("alone", random_frames(1, seed=1)))
    listener.wait_for(1)
    listener.in_flight = 9
    lane.put(utterance("patient", random_frames(1, seed=2)))
    time.sleep(0.3)
    heard_in_company = set(listener.heard)
    lane.close()
    lane.join()

    assert heard_in_company == {"alone"}
    assert set(listener.heard) == {"alone", "patient"}


def test_enough_frames_grow_with_the_requests_in_flight(
    small_decoder: CodecDecoder, device: torch.device, listener: Listener
) -> None:
    weights = CodecWeights.of(small_decoder, Placement(device, torch.float32))
    passes = DevicePasses(weights, PLAN, causal_conv)
    lane = BatchedCodecLane(passes, PLAN, SAMPLES_PER_FRAME, PassTrigger(2, 3, 3600.0, 0), BESIDE_STREAMS)
    lane.start(listener)

    listener.in_flight = 1
    lane.put(utterance("enough for one", random_frames(3, seed=1)))
    listener.wait_for(1)
    listener.in_flight = 3
    lane.put(utterance("too few for three", random_frames(5, seed=2)))
    time.sleep(0.3)
    heard_early = set(listener.heard)
    lane.put(utterance("enough together", random_frames(4, seed=3)))
    listener.wait_for(3)
    lane.close()
    lane.join()

    assert heard_early == {"enough for one"}


def test_a_closed_lane_finishes_what_it_has(lane: BatchedCodecLane, listener: Listener) -> None:
    for number in range(4):
        lane.put(utterance(f"u{number}", random_frames(2, seed=number)))

    lane.start(listener)
    lane.close()
    lane.join()

    assert len(listener.heard) == 4
