"""Head norm, rotation, cache writes and the three attentions against plain torch in fp64."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.worker.engine.cuda.products import noise, relative_error
from worker.engine.cuda.float8 import FLOAT8
from worker.engine.cuda.kernels.decode_attention import decode_attention
from worker.engine.cuda.kernels.predictor_attention import attend_first_pair, attend_position
from worker.engine.cuda.kernels.prompt_attention import prompt_attention
from worker.engine.cuda.kernels.rotary_heads import rotate_and_store
from worker.engine.model.config import TransformerConfig
from worker.engine.model.layers import RotaryTable

EPS = 1e-6
# The interpreter multiplies matrices of bf16 numbers as if they were integers; fp16 stands in for them there.
HALF = torch.bfloat16 if torch.cuda.is_available() else torch.float16
TOLERANCE = {torch.float32: 2e-6, HALF: 8e-3 if HALF is torch.bfloat16 else 1e-3}
DTYPES = tuple(TOLERANCE)
# Numbers of a cache beside those of the queries.
CACHES = [(dtype, dtype) for dtype in DTYPES] + [(HALF, FLOAT8)]
# Three bits of fraction: up to a sixteenth, a fortieth on average. Triton's interpreter has no carry out of the
# fraction, so that 1.99 becomes 1.0 there instead of 2.0.
ROUNDING_OF_FLOAT8 = 4e-2 if torch.cuda.is_available() else 1.5e-1


@dataclass(frozen=True)
class Shape:
    kv_heads: int
    group: int
    head_dim: int

    @property
    def heads(self) -> int:
        return self.kv_heads * self.group

    @property
    def qkv_width(self) -> int:
        return (self.heads + 2 * self.kv_heads) * self.head_dim


SHAPES = (Shape(2, 2, 32), Shape(1, 3, 64), Shape(2, 2, 128))


@dataclass(frozen=True)
class Rotary:
    """The engine's own factors, as the kernels take them."""

    cos: Tensor
    sin: Tensor
    table: RotaryTable

    @classmethod
    def of(cls, shape: Shape, positions: int, device: torch.device) -> Rotary:
        config = TransformerConfig(
            hidden_size=shape.heads * shape.head_dim,
            intermediate_size=1,
            num_layers=1,
            num_heads=shape.heads,
            num_kv_heads=shape.kv_heads,
            head_dim=shape.head_dim,
            rms_norm_eps=EPS,
            rope_theta=1e6,
        )
        table = RotaryTable(config, positions, device)
        half = shape.head_dim // 2
        factors = table.span(0, positions)
        cos, sin = factors.cos[:, 0, :half].contiguous(), factors.sin[:, 0, half:].contiguous()
        return cls(cos, sin, table)


@dataclass(frozen=True)
class Heads:
    """Queries (N, H, d), keys and values (N, KV, d) in fp64, normed and rotated by the reference."""

    queries: Tensor
    keys: Tensor
    values: Tensor

    @classmethod
    def of(cls, qkv: Tensor, shape: Shape, weights: tuple[Tensor, Tensor], rotary: Rotary, at: Tensor) -> Heads:
        heads = qkv.double().view(qkv.shape[0], -1, shape.head_dim)
        query, key, value = heads.split((shape.heads, shape.kv_heads, shape.kv_heads), dim=1)
        rotation = rotary.table.at(at.long())
        normed = [F.rms_norm(x, (shape.head_dim,), w.double(), EPS) for x, w in zip((query, key), weights, strict=True)]
        return cls(rotation.apply(normed[0]), rotation.apply(normed[1]), value)


def attend(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """query (H, d), keys and values (KV, n, d) -> (H * d,), in fp64."""
    group = query.shape[0] // keys.shape[0]
    keys, values = keys.repeat_interleave(group, 0).double(), values.repeat_interleave(group, 0).double()
    scores = torch.einsum("hd,hnd->hn", query.double(), keys) * query.shape[1] ** -0.5
    return torch.einsum("hn,hnd->hd", scores.softmax(dim=1), values).flatten()


def indices(device: torch.device, *numbers: int) -> Tensor:
    return torch.tensor(numbers, dtype=torch.int32, device=device)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_heads_are_normed_rotated_and_stored_at_their_slot_and_position(
    shape: Shape, dtype: torch.dtype, device: torch.device, random: torch.Generator
) -> None:
    qkv = noise(random, dtype, 4, shape.qkv_width)
    weights = (noise(random, dtype, shape.head_dim), noise(random, dtype, shape.head_dim))
    rotary = Rotary.of(shape, 12, device)
    keys = torch.full((5, shape.kv_heads, 12, shape.head_dim), torch.nan, dtype=dtype, device=device)
    values = keys.clone()
    slots, positions = indices(device, 4, 0, 2, 2), indices(device, 0, 11, 3, 4)
    expected = Heads.of(qkv, shape, weights, rotary, positions)

    queries = rotate_and_store(qkv, *weights, EPS, rotary.cos, rotary.sin, slots, positions, keys, values)

    assert relative_error(queries, expected.queries.flatten(1)) < TOLERANCE[dtype]
    assert relative_error(keys[slots.long(), :, positions.long()], expected.keys) < TOLERANCE[dtype]
    assert torch.equal(values[slots.long(), :, positions.long()].double(), expected.values)
    written = 4 * shape.kv_heads * shape.head_dim
    assert keys.isnan().sum() == keys.numel() - written
    assert values.isnan().sum() == values.numel() - written


def test_a_cache_of_eight_bits_holds_what_was_stored_to_a_few_per_cent(
    device: torch.device, random: torch.Generator
) -> None:
    shape = Shape(2, 2, 64)
    qkv = noise(random, HALF, 4, shape.qkv_width)
    weights = (noise(random, HALF, shape.head_dim), noise(random, HALF, shape.head_dim))
    rotary = Rotary.of(shape, 12, device)
    keys = torch.zeros(5, shape.kv_heads, 12, shape.head_dim, dtype=FLOAT8, device=device)
    values = keys.clone()
    slots, positions = indices(device, 4, 0, 2, 2), indices(device, 0, 11, 3, 4)
    expected = Heads.of(qkv, shape, weights, rotary, positions)

    rotate_and_store(qkv, *weights, EPS, rotary.cos, rotary.sin, slots, positions, keys, values)

    assert relative_error(keys[slots.long(), :, positions.long()], expected.keys) < ROUNDING_OF_FLOAT8
    assert relative_error(values[slots.long(), :, positions.long()], expected.values) < ROUNDING_OF_FLOAT8


@pytest.mark.parametrize(("dtype", "cache"), CACHES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("num_splits", [1, 4])
def test_decode_attention_reads_what_exists_and_nothing_else(
    shape: Shape,
    dtype: torch.dtype,
    cache: torch.dtype,
    num_splits: int,
    device: torch.device,
    random: torch.Generator,
) -> None:
    keys = noise(random, cache, 6, shape.kv_heads, 300, shape.head_dim)
    values = noise(random, cache, 6, shape.kv_heads, 300, shape.head_dim)
    queries = noise(random, dtype, 5, shape.heads * shape.head_dim)
    slots, positions = indices(device, 3, 0, 5, 1, 2), indices(device, 0, 63, 64, 299, 150)
    for slot, position in zip(slots.tolist(), positions.tolist(), strict=True):
        keys[slot, :, position + 1 :] = torch.nan
        values[slot, :, position + 1 :] = torch.nan
    arrivals = torch.zeros(5 * shape.kv_heads, dtype=torch.int32, device=device)

    attended = decode_attention(queries, keys, values, slots, positions, num_splits, arrivals)

    for row, (slot, position) in enumerate(zip(slots.tolist(), positions.tolist(), strict=True)):
        query = queries[row].view(shape.heads, shape.head_dim)
        history = slice(0, position + 1)
        expected = attend(query, keys[slot, :, history], values[slot, :, history])
        assert relative_error(attended[row], expected) < TOLERANCE[dtype], row
    assert not arrivals.any()


def test_a_history_is_attended_to_alike_alone_and_among_others(device: torch.device, random: torch.Generator) -> None:
    keys = noise(random, HALF, 4, 2, 200, 64)
    values = noise(random, HALF, 4, 2, 200, 64)
    queries = noise(random, HALF, 4, 4 * 64)
    slots, positions = indices(device, 2, 0, 3, 1), indices(device, 199, 5, 130, 64)
    arrivals = torch.zeros(8, dtype=torch.int32, device=device)

    together = decode_attention(queries, keys, values, slots, positions, 4, arrivals)
    alone = decode_attention(queries[2:3], keys, values, slots[2:3], positions[2:3], 4, arrivals)

    assert torch.equal(together[2:3], alone)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what NumPy says of NaN in the interpreter
def test_a_sick_history_stays_in_its_row(device: torch.device, random: torch.Generator) -> None:
    keys, values = noise(random, HALF, 3, 2, 80, 64), noise(random, HALF, 3, 2, 80, 64)
    keys[1] = torch.nan
    values[1] = torch.inf
    arrivals = torch.zeros(6, dtype=torch.int32, device=device)

    attended = decode_attention(
        noise(random, HALF, 3, 256), keys, values, indices(device, 0, 1, 2), indices(device, 70, 70, 70), 2, arrivals
    )

    assert attended[[0, 2]].isfinite().all()
    assert not attended[1].isfinite().any()


@pytest.mark.parametrize(("dtype", "cache"), CACHES)
@pytest.mark.parametrize("shape", SHAPES)
def test_prompt_attention_is_causal_within_each_prompt(
    shape: Shape, dtype: torch.dtype, cache: torch.dtype, device: torch.device, random: torch.Generator
) -> None:
    lengths, slots = (70, 1, 20, 32), indices(device, 2, 4, 0, 1)
    keys = torch.full((5, shape.kv_heads, 80, shape.head_dim), torch.nan, device=device).to(cache)
    values = keys.clone()
    for slot, length in zip(slots.tolist(), lengths, strict=True):
        keys[slot, :, :length] = noise(random, cache, shape.kv_heads, length, shape.head_dim)
        values[slot, :, :length] = noise(random, cache, shape.kv_heads, length, shape.head_dim)
    starts = indices(device, 0, 70, 71, 91, 123)
    queries = noise(random, dtype, 125, shape.heads * shape.head_dim)

    attended = prompt_attention(queries, keys, values, slots, starts, 70)

    for prompt, slot in enumerate(slots.tolist()):
        first = int(starts[prompt])
        rows = [
            attend(
                queries[first + i].view(shape.heads, shape.head_dim), keys[slot, :, : i + 1], values[slot, :, : i + 1]
            )
            for i in range(lengths[prompt])
        ]
        assert relative_error(attended[first : first + lengths[prompt]], torch.stack(rows)) < TOLERANCE[dtype]
    assert not attended[123:].any()


def test_a_prompt_is_attended_to_alike_alone_and_in_a_pack(device: torch.device, random: torch.Generator) -> None:
    keys, values = noise(random, HALF, 3, 2, 96, 64), noise(random, HALF, 3, 2, 96, 64)
    queries = noise(random, HALF, 150, 256)

    packed = prompt_attention(queries, keys, values, indices(device, 0, 1, 2), indices(device, 0, 37, 110, 150), 73)
    alone = prompt_attention(queries[37:110], keys, values, indices(device, 1), indices(device, 0, 73), 96)

    assert torch.equal(packed[37:110], alone)


def test_prompts_that_are_not_there_change_nothing(device: torch.device, random: torch.Generator) -> None:
    """So a captured pass has places for more prompts than it is given, and for longer ones."""
    keys, values = noise(random, HALF, 4, 2, 96, 64), noise(random, HALF, 4, 2, 96, 64)
    queries = noise(random, HALF, 128, 256)

    given = prompt_attention(queries, keys, values, indices(device, 0, 1), indices(device, 0, 37, 110), 73)
    slots, starts = indices(device, 0, 1, 3, 3), indices(device, 0, 37, 110, 110, 110)
    padded = prompt_attention(queries, keys, values, slots, starts, 96)

    assert torch.equal(given, padded)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_predictor_attention_walks_through_a_frame(
    shape: Shape, dtype: torch.dtype, device: torch.device, random: torch.Generator
) -> None:
    rows, positions = 2, 16
    weights = (noise(random, dtype, shape.head_dim), noise(random, dtype, shape.head_dim))
    rotary = Rotary.of(shape, positions, device)
    factors = (*weights, EPS, rotary.cos, rotary.sin)
    keys = torch.full((rows + 1, shape.kv_heads, positions, shape.head_dim), torch.nan, dtype=dtype, device=device)
    values = keys.clone()
    qkv = noise(random, dtype, positions, rows, shape.qkv_width)
    heads = [Heads.of(qkv[i], shape, weights, rotary, torch.full((rows,), i, device=device)) for i in range(positions)]
    past_keys = torch.stack([h.keys for h in heads], dim=2)
    past_values = torch.stack([h.values for h in heads], dim=2)

    pair = attend_first_pair(qkv[:2].flatten(0, 1), *factors, keys, values).view(2, rows, -1)
    found = [*pair, *(attend_position(qkv[i], *factors, keys, values, i) for i in range(2, positions))]

    for i in range(positions):
        expected = torch.stack(
            [attend(heads[i].queries[r], past_keys[r, :, : i + 1], past_values[r, :, : i + 1]) for r in range(rows)]
        )
        assert relative_error(found[i], expected) < TOLERANCE[dtype], i
    assert relative_error(keys[:rows], past_keys) < TOLERANCE[dtype]
    assert keys[rows].isnan().all()


def test_the_first_position_alone_is_what_the_pair_has_first(device: torch.device, random: torch.Generator) -> None:
    shape = Shape(2, 2, 64)
    weights = (noise(random, HALF, 64), noise(random, HALF, 64))
    rotary = Rotary.of(shape, 16, device)
    factors = (*weights, EPS, rotary.cos, rotary.sin)
    keys = torch.zeros(2, 2, 16, 64, dtype=HALF, device=device)
    qkv = noise(random, HALF, 4, shape.qkv_width)

    pair = attend_first_pair(qkv, *factors, keys, keys.clone())
    alone = attend_position(qkv[:2], *factors, keys, keys.clone(), 0)

    assert torch.equal(pair[:2], alone)
