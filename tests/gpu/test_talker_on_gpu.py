"""The talker's kernels, graphs and lane on a real device: errors against float32, and who may change whose codes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.gpu.random_talker import PAD_ID, SIZES, random_request, random_weights, run_all_slots
from tests.worker.engine.cuda.eager_frames import EagerFrames
from tests.worker.engine.cuda.plain_operations import PlainOperations
from worker.engine.cuda.talker.capture_plan import capture_plan
from worker.engine.cuda.talker.decode.operations import Operations
from worker.engine.cuda.talker.decode.triton_operations import TritonOperations
from worker.engine.cuda.talker.frame_executor import GraphedFrames
from worker.engine.cuda.talker.prefill.layers import CapturedPromptLayers, PromptLayers
from worker.engine.cuda.talker.prefill.pack import SlotAdmission
from worker.engine.cuda.talker.start import CACHE_DTYPES, operations_by_rows, slot_lane
from worker.engine.cuda.talker.talker import SlotTalker
from worker.engine.cuda.talker.weights import SpeechWeights
from worker.engine.interface import CodecFrames
from worker.engine.profiles import EngineReproducibility, ServingProfile
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.settings import NativeEngineSettings, Precision

SLOTS, CAPACITY = 24, 384
DEVICE = torch.device("cuda")
BFLOAT16, FLOAT8 = Precision.BFLOAT16, Precision.FLOAT8
# bfloat16 keeps 8 bits; what many layers add up to stays under a few of its steps. e4m3 keeps 4, a fortieth on average:
# the cache's share of a layer's output is half of it or less, and an MLP has two products of two rounded sides.
LARGEST_ERRORS = {
    (BFLOAT16, BFLOAT16): 3e-2,
    (FLOAT8, BFLOAT16): 6e-2,
    (BFLOAT16, FLOAT8): 8e-2,
    (FLOAT8, FLOAT8): 1e-1,
}


@pytest.fixture(scope="session")
def weights() -> SpeechWeights:
    """1.7B's widths, three talker layers, the whole predictor."""
    return random_weights(SIZES["shallow"], CAPACITY, torch.bfloat16, DEVICE)


@pytest.fixture
def requests() -> list[RequestState]:
    generator = np.random.default_rng(2)
    return [
        random_request(
            str(n), int(generator.integers(1, 200)), int(generator.integers(20, 60)), int(generator.integers(1 << 40))
        )
        for n in range(40)
    ]


def in_float32(value: Any) -> Any:
    """The same tensors, upcast; what is no float stays."""
    match value:
        case torch.Tensor():
            return value.float() if value.is_floating_point() else value
        case tuple():
            return tuple(in_float32(item) for item in value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{field.name: in_float32(getattr(value, field.name)) for field in fields(value)})
        case _:
            return value


def relative(made: torch.Tensor, expected: torch.Tensor) -> float:
    return float((made.float() - expected.float()).norm() / expected.float().norm())


class Recorder:
    """Operations that keep all logits, and draw what they are told."""

    def __init__(self, operations: Operations, codes: torch.Tensor | None) -> None:
        self._operations = operations
        self._codes = codes
        self.logits_seen: list[torch.Tensor] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operations, name)

    def draw_first(self, logits: torch.Tensor, slots: Any, state: Any, codes: torch.Tensor, finite: Any) -> None:
        self.logits_seen.append(logits.float().clone())
        self._operations.draw_first(logits, slots, state, codes, finite)
        if self._codes is not None:
            codes[:, 0] = self._codes[:, 0]

    def draw_residual(
        self, logits: torch.Tensor, codebook: int, slots: Any, state: Any, codes: torch.Tensor, finite: Any
    ) -> None:
        self.logits_seen.append(logits.float().clone())
        self._operations.draw_residual(logits, codebook, slots, state, codes, finite)
        if self._codes is not None:
            codes[:, codebook] = self._codes[:, codebook]


def rounded(weights: SpeechWeights, mlp: Precision) -> SpeechWeights:
    return weights.with_float8_mlps() if mlp is FLOAT8 else weights


@torch.inference_mode()
@pytest.mark.parametrize(("kv", "mlp"), LARGEST_ERRORS)
def test_logits_of_every_stage_are_those_of_float32(
    kv: Precision,
    mlp: Precision,
    weights: SpeechWeights,
    requests: list[RequestState],
    record_property: Callable[[str, object], None],
) -> None:
    """Teacher-forced; beside the kernels' error stands that of plain torch with the same rounded numbers.

    `--junitxml=FILE -o junit_family=xunit1` writes the figures down.
    """
    admissions = [SlotAdmission(n, request) for n, request in enumerate(requests[:8])]
    num_tokens = sum(admission.prefill_rows for admission in admissions)
    slots = torch.arange(8, dtype=torch.int32, device=DEVICE)
    exact_weights = in_float32(weights)
    plain = PlainOperations(weights.num_codebooks, weights.codebook_size, DEVICE)
    forced = torch.randint(0, 2048, (3, 8, 16), device=DEVICE, dtype=torch.int32)

    def logits(of: SpeechWeights, operations: Operations, cache_dtype: torch.dtype) -> list[torch.Tensor]:
        talker = SlotTalker(of, 8, CAPACITY, 8, PAD_ID, cache_dtype)
        talker.admit(admissions, num_tokens, talker.eager_layers(operations))
        seen: list[torch.Tensor] = []
        for codes in forced:
            recorder = Recorder(operations, codes)
            talker.step.run(slots, recorder)  # pyright: ignore[reportArgumentType]
            seen += recorder.logits_seen
        return seen

    plan = capture_plan(8, CAPACITY, EngineReproducibility.STRICT)
    operations: Operations = operations_by_rows(weights, plan)(8)
    if mlp is FLOAT8:
        # Those for few rows have bfloat16 weights whatever the MLP's precision.
        operations = TritonOperations(4, torch.zeros(8 * 8, dtype=torch.int32, device=DEVICE))
    expected = logits(exact_weights, plain, torch.float32)
    made = logits(rounded(weights, mlp), operations, CACHE_DTYPES[kv])
    plain_rounded = logits(rounded(weights, mlp), plain, CACHE_DTYPES[kv])

    errors = [relative(one, other) for one, other in zip(made, expected, strict=True)]
    plain_errors = [relative(one, other) for one, other in zip(plain_rounded, expected, strict=True)]
    record_property("talker", f"{max(errors[::16]):.2e}, plain {max(plain_errors[::16]):.2e}")
    record_property("predictor", f"{max(errors):.2e}, plain {max(plain_errors):.2e}")
    assert max(errors) < LARGEST_ERRORS[kv, mlp]
    assert max(errors) < 1.5 * max(plain_errors)


@torch.inference_mode()
@pytest.mark.parametrize(
    ("num_rows", "precision"), [(1, BFLOAT16), (5, BFLOAT16), (SLOTS, BFLOAT16), (1, FLOAT8), (SLOTS, FLOAT8)]
)
def test_a_replay_gives_the_bits_of_the_eager_step(num_rows: int, precision: Precision, weights: SpeechWeights) -> None:
    plan = capture_plan(SLOTS, CAPACITY, EngineReproducibility.BEST_EFFORT)
    weights = rounded(weights, precision)
    talker = SlotTalker(weights, SLOTS, CAPACITY, plan.max_rows, PAD_ID, CACHE_DTYPES[precision])
    operations_for = operations_by_rows(weights, plan)
    stream = torch.cuda.Stream()
    graphed = GraphedFrames(talker.step, plan, operations_for, SLOTS, 2, stream)
    eager = EagerFrames(talker.step, plan, operations_for(plan.rows_for(num_rows)), SLOTS)
    slots = list(range(num_rows))

    run_all_slots(talker, 100)
    torch.cuda.synchronize()
    replayed = [graphed.launch(slots).wait().copy() for _ in range(5)]
    run_all_slots(talker, 100)
    torch.cuda.synchronize()
    stepped = [eager.launch(slots).wait().copy() for _ in range(5)]

    np.testing.assert_array_equal(np.stack(replayed), np.stack(stepped))


@torch.inference_mode()
@pytest.mark.parametrize("lengths", [[60], [1, 128, 200, 40]])
def test_a_captured_pass_over_prompts_gives_the_bits_of_the_eager_one(
    lengths: list[int], weights: SpeechWeights
) -> None:
    plan = capture_plan(SLOTS, CAPACITY, EngineReproducibility.BEST_EFFORT)
    talker = SlotTalker(weights, SLOTS, CAPACITY, plan.max_rows, PAD_ID)
    eager = talker.eager_layers(operations_by_rows(weights, plan)(plan.max_rows))
    inputs = torch.zeros(plan.captured_tokens[-1], weights.codec_table.shape[1], dtype=weights.dtype, device=DEVICE)
    captured = CapturedPromptLayers(eager, inputs, plan.captured_tokens, SLOTS, torch.cuda.Stream())
    requests = [random_request(str(n), length, 20, n) for n, length in enumerate(lengths)]
    (group,) = plan.groups([SlotAdmission(n, request) for n, request in enumerate(requests)])

    def written(layers: PromptLayers) -> list[torch.Tensor]:
        talker.memory.keys.zero_()
        talker.memory.values.zero_()
        talker.admit(group.admissions, group.num_tokens, layers)
        torch.cuda.synchronize()
        return [cache[:, :SLOTS].clone() for cache in (talker.memory.keys, talker.memory.values)]

    assert group.num_tokens in plan.captured_tokens
    for one, other in zip(written(captured), written(eager), strict=True):
        assert one.any()
        assert torch.equal(one, other)


@pytest.mark.parametrize("precision", Precision)
def test_strict_codes_are_the_same_alone_and_in_any_company(
    precision: Precision, weights: SpeechWeights, requests: list[RequestState]
) -> None:
    lane = strict_lane(rounded(weights, precision), PAD_ID, precision)

    together = drive(lane, requests, cancelled={3: 5, 17: 10, 30: 18})

    for request in [requests[n] for n in (0, 1, 7, 22, 39)]:
        alone = drive(lane, [replace(request, frames=0)], cancelled={})
        np.testing.assert_array_equal(alone[request.request_id], together[request.request_id])
    assert len(together) == len(requests) - 3


def test_a_sick_row_fails_alone(weights: SpeechWeights, requests: list[RequestState]) -> None:
    sick_id = 77
    table = weights.tables.text.clone()
    table[sick_id] = torch.nan
    sick_weights = replace(weights, tables=replace(weights.tables, text=table))
    sick = random_request("sick", 30, 40, 9)
    sick.prompt.text_ids[4] = sick_id
    for request in requests:
        request.prompt.text_ids[request.prompt.text_ids == sick_id] = sick_id + 1
    lane = strict_lane(sick_weights, PAD_ID)

    expected = drive(lane, [replace(request, frames=0) for request in requests], cancelled={})
    outcome = drive(lane, [sick, *requests], cancelled={})

    assert outcome.pop("sick") is None
    for name, frames in expected.items():
        np.testing.assert_array_equal(frames, outcome[name])


def test_memory_is_constant_while_requests_come_and_go(weights: SpeechWeights, requests: list[RequestState]) -> None:
    settings = NativeEngineSettings(Path("random"), slots=SLOTS, profile=ServingProfile.THROUGHPUT)
    lane = slot_lane(weights, SLOTS, 0, CAPACITY, PAD_ID, settings)
    drive(lane, requests, cancelled={})
    before = torch.cuda.memory_allocated()

    for _ in range(3):
        drive(lane, [replace(request, frames=0) for request in requests], cancelled={2: 3})

    assert torch.cuda.memory_allocated() == before


def test_admission_waits_for_nothing_that_the_device_does(weights: SpeechWeights, requests: list[RequestState]) -> None:
    """An operation that does would hold up every stream, at each arrival, for as long as frames are in flight."""
    settings = NativeEngineSettings(Path("random"), slots=SLOTS)
    lane = slot_lane(weights, SLOTS, 0, CAPACITY, PAD_ID, settings)
    drive(lane, requests, cancelled={})
    prefix = np.ones((3, weights.num_codebooks), dtype=np.int16)
    try:
        # torch warns that this mode is a prototype.
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            torch.cuda.set_sync_debug_mode("error")
        lane.add(replace(requests[0], frames=0))
        lane.add(replace(requests[1], frames=0, prefix=prefix))
        lane.step(lambda: False)
    finally:
        torch.cuda.set_sync_debug_mode("default")

    while lane.has_work:
        lane.step(lambda: False)


def strict_lane(weights: SpeechWeights, pad_id: int, kv: Precision = BFLOAT16) -> Any:
    settings = NativeEngineSettings(
        Path("random"), slots=SLOTS, reproducibility=EngineReproducibility.STRICT, kv_precision=kv
    )
    return slot_lane(weights, SLOTS, 0, CAPACITY, pad_id, settings)


def drive(lane: Any, requests: Sequence[RequestState], cancelled: Mapping[int, int]) -> dict[str, CodecFrames | None]:
    """Two arrivals per step; frames by request, None where the numbers were not finite."""
    waiting, outcomes, step = list(enumerate(requests)), dict[str, CodecFrames | None](), 0
    while waiting or lane.has_work:
        for _, request in waiting[:2]:
            lane.add(request)
        waiting = waiting[2:]
        for number, at in cancelled.items():
            if at == step:
                lane.cancel(requests[number])
        for ended in lane.step(lambda: False).ended:
            outcomes[ended.request.request_id] = None if ended.end is RowEnd.NON_FINITE else ended.frames
        step += 1
    return outcomes
