"""A codec's plan keeps to its part of the device, and serves on the smallest."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_tests import examples
from tests.worker.engine.cuda.codec.decoder_layers import PUBLISHED
from worker.engine.cuda.codec.codec_pass import pasts_of
from worker.engine.cuda.codec.pass_runner import DevicePasses
from worker.engine.cuda.codec.plan import PassShape, serving_plan
from worker.engine.cuda.codec.start import CodecMemory
from worker.engine.cuda.codec.stream_state import Past
from worker.engine.cuda.codec.weights import CodecWeights, Placement
from worker.engine.model.codec_decoder import CodecDecoder

GIB = 1 << 30
SHARE = 1 / 8


@pytest.fixture(scope="module")
def weights() -> CodecWeights:
    """Of the published codec in 16 bits."""
    with torch.device("meta"):
        shapes = {name: each.shape for name, each in CodecDecoder(PUBLISHED).state_dict().items()}
    decoder = CodecDecoder.load(PUBLISHED, {name: torch.zeros(shape) for name, shape in shapes.items()}, "zeros")
    return CodecWeights.of(decoder, Placement(torch.device("cpu"), torch.float16))


@pytest.fixture(scope="module")
def published(weights: CodecWeights) -> CodecMemory:
    return CodecMemory(pasts_of(weights), torch.float16.itemsize)


@pytest.mark.parametrize("gib", [79, 140])
def test_a_large_device_has_every_pass(published: CodecMemory, gib: int) -> None:
    assert published.plan_on(gib * GIB) == serving_plan(640)


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(total_bytes=st.integers(4 * GIB, 200 * GIB))
def test_a_plan_keeps_to_its_share_and_grows_with_the_device(published: CodecMemory, total_bytes: int) -> None:
    plan = published.plan_on(total_bytes)

    assert published.bytes_on(total_bytes) <= total_bytes * SHARE
    assert plan.captured == frozenset(plan.shapes)
    # A chunk of a stream that is heard, the largest part of one, and one of each for many.
    assert {PassShape(1, 1), PassShape(1, 25), PassShape(16, 1)} <= set(plan.shapes)
    larger = published.plan_on(total_bytes + GIB)
    assert set(plan.shapes) <= set(larger.shapes)
    assert plan.num_streams <= larger.num_streams


def test_the_smallest_device_has_the_smallest_pass() -> None:
    plan = CodecMemory([Past(3, 1024, 1), Past(6, 96, 1920)], 2).plan_on(1)

    assert plan.shapes == (PassShape(1, 1),)
    assert plan.num_streams == 16


def test_no_less_is_told_than_the_passes_allocate(weights: CodecWeights, published: CodecMemory) -> None:
    def convolve(*_: object, **__: object) -> None: ...

    allocated = DevicePasses(weights, published.plan_on(6 * GIB), convolve).memory_bytes

    # What is between the layers' buffers comes to them when a pass runs.
    assert allocated <= published.bytes_on(6 * GIB) <= 1.5 * allocated
