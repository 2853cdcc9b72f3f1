"""The benchmark's pass over several positions against passes of the engine's, one position each."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from benchmarks.engine.drafted_passes import DraftedPasses, FrameMemory, Products
from worker.engine.cuda.slot_state import SlotState
from worker.engine.cuda.talker.decode.weights import Heads, LayerWeights, RotaryFactors, TransformerWeights
from worker.engine.cuda.talker.frame_step import PredictorWeights
from worker.engine.model.config import TransformerConfig
from worker.engine.requests.request_state import RowEnd

STACK = TransformerConfig(32, 48, 2, 4, 2, 16, 1e-6, 1e6)
CODEBOOKS, CODEBOOK_SIZE = 6, 24


def predictor_of(random: torch.Generator) -> PredictorWeights:
    def normal(*shape: int) -> Tensor:
        values = torch.randn(*shape, generator=random, device=random.device)
        return (values * shape[-1] ** -0.5).bfloat16()

    def norm(width: int) -> Tensor:
        return 1 + normal(width)

    def layer() -> LayerWeights:
        return LayerWeights(
            input_norm=norm(STACK.hidden_size),
            qkv=normal((STACK.num_heads + 2 * STACK.num_kv_heads) * STACK.head_dim, STACK.hidden_size),
            heads=Heads(
                STACK.num_heads,
                STACK.num_kv_heads,
                STACK.head_dim,
                norm(STACK.head_dim),
                norm(STACK.head_dim),
                STACK.rms_norm_eps,
            ),
            output=normal(STACK.hidden_size, STACK.num_heads * STACK.head_dim),
            post_norm=norm(STACK.hidden_size),
            gate_up=normal(2 * STACK.intermediate_size, STACK.hidden_size),
            down=normal(STACK.hidden_size, STACK.intermediate_size),
        )

    rotary = RotaryFactors.compute(STACK, CODEBOOKS, random.device)
    layers = tuple(layer() for _ in range(STACK.num_layers))
    transformer = TransformerWeights(layers, norm(STACK.hidden_size), STACK.rms_norm_eps, rotary)
    tables = (CODEBOOKS - 1, CODEBOOK_SIZE, STACK.hidden_size)
    return PredictorWeights(transformer, normal(*tables), normal(*tables), None)


def drawing_rows(num_rows: int, device: torch.device) -> SlotState:
    state = SlotState.allocate(num_rows, 8, CODEBOOK_SIZE, STACK.hidden_size, torch.bfloat16, device)
    state.status[:num_rows] = int(RowEnd.RUNNING)
    state.seed[:num_rows] = torch.arange(num_rows, device=device) * 977 + 5
    state.predictor.inverse_temperature.fill_(1 / 0.9)
    state.predictor.noise_scale.fill_(1.0)
    state.predictor.top_k.fill_(20)
    return state


@pytest.mark.parametrize(
    ("products", "num_rows", "start", "count"), [(Products.FEW_ROWS, 1, 2, 4), (Products.SOME_ROWS, 2, 3, 2)]
)
def test_several_positions_have_the_bits_of_single_ones(
    products: Products, num_rows: int, start: int, count: int, random: torch.Generator
) -> None:
    predictor = predictor_of(random)
    state = drawing_rows(num_rows, random.device)
    singly, together = (FrameMemory.allocate(predictor, num_rows) for _ in range(2))
    shape = singly.codes.shape
    singly.codes.copy_(torch.randint(0, CODEBOOK_SIZE, shape, generator=random, device=random.device))
    together.codes.copy_(singly.codes)
    hidden = torch.randn(num_rows, STACK.hidden_size, generator=random, device=random.device).bfloat16()
    for memory in (singly, together):
        passes = DraftedPasses(predictor, state, memory, products)
        passes.first_pair(hidden)
        for position in range(2, start):
            passes.single(position)

    one_by_one = DraftedPasses(predictor, state, singly, products)
    expected = [one_by_one.single(position) for position in range(start, start + count)]
    found = DraftedPasses(predictor, state, together, products).several(start, count)

    assert torch.equal(torch.stack(found), torch.stack(expected))
    assert torch.equal(together.drawn, singly.drawn)
    assert torch.equal(together.kv.keys, singly.kv.keys)
    assert torch.equal(together.kv.values, singly.kv.values)
    assert (together.finite[:, 1 : start + count] == 1).all()
    assert len(set(singly.drawn[:, start : start + count].flatten().tolist())) > 1
