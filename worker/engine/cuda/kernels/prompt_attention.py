"""Causal attention of many prompts of different lengths in one launch.

The tokens of all prompts lie behind one another; their keys and values are in the cache already. Each prompt starts a
new tile, and the query heads of a KV head share one. So a prompt's result does not depend on its neighbours.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from worker.engine.cuda.kernels.decode_attention import PRODUCT_TYPES

_LOG2_E = 1.4426950408889634
# Rows of a tile are (position, query head of the KV head).
_QUERY_TILE = 64
_KEY_BLOCK = 64


def prompt_attention(
    queries: Tensor, keys: Tensor, values: Tensor, slots: Tensor, starts: Tensor, max_length: int
) -> Tensor:
    """Attended values (N, H * d); each token sees its own prompt up to itself.

    queries: (N, H * d), rotated. keys, values: one layer of the cache, (slots, KV, capacity, d), holding every prompt
    from position 0, in any of `PRODUCT_TYPES`. slots: int32 (prompts,). starts: int32 (prompts + 1,), rising; prompt i
    is the tokens starts[i] to starts[i + 1], at most `max_length` of them. Tokens beyond the last prompt get zeros.
    Softmax is computed in fp32.
    """
    num_kv_heads, head_dim = keys.shape[1], keys.shape[3]
    group = queries.shape[1] // (num_kv_heads * head_dim)
    attended = torch.zeros_like(queries)
    tiles = triton.cdiv(max_length * group, _QUERY_TILE)
    _prompt_attention[(tiles, num_kv_heads, slots.shape[0])](
        queries,
        keys,
        values,
        slots,
        starts,
        attended,
        head_dim**-0.5 * _LOG2_E,
        keys.stride(0),
        keys.stride(1),
        num_kv_heads=num_kv_heads,
        group=group,
        head_dim=head_dim,
        query_tile=_QUERY_TILE,
        key_block=_KEY_BLOCK,
        product_type=PRODUCT_TYPES[keys.dtype],
        num_warps=4,
    )
    return attended


@triton.jit
def _prompt_attention(
    queries: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    slots: tl.tensor,
    starts: tl.tensor,
    attended: tl.tensor,
    scale: tl.tensor,
    slot_stride: tl.tensor,
    head_stride: tl.tensor,
    num_kv_heads: tl.constexpr,
    group: tl.constexpr,
    head_dim: tl.constexpr,
    query_tile: tl.constexpr,
    key_block: tl.constexpr,
    product_type: tl.constexpr,
) -> None:
    kv_head = tl.program_id(1)
    prompt = tl.program_id(2)
    first_token = tl.load(starts + prompt)
    length = tl.load(starts + prompt + 1) - first_token
    first_row = tl.program_id(0) * query_tile
    if first_row >= length * group:
        return

    row = first_row + tl.arange(0, query_tile)
    position = row // group
    is_token = position < length
    lane = tl.arange(0, head_dim)
    head_row = (first_token + position).to(tl.int64) * num_kv_heads * group + kv_head * group + row % group
    place = head_row[:, None] * head_dim + lane[None, :]
    q = tl.load(queries + place, mask=is_token[:, None], other=0.0)
    q = q.to(product_type)
    history = tl.load(slots + prompt).to(tl.int64) * slot_stride + kv_head * head_stride
    end = tl.minimum(tl.cdiv(first_row + query_tile, group), length)
    largest = tl.full([query_tile], float("-inf"), tl.float32)
    total = tl.zeros([query_tile], tl.float32)
    sum_values = tl.zeros([query_tile, head_dim], tl.float32)
    for start in tl.range(0, end, key_block, num_stages=2):
        key = start + tl.arange(0, key_block)
        exists = key < end
        source = history + key[:, None] * head_dim + lane[None, :]
        k = tl.load(keys + source, mask=exists[:, None], other=0.0)
        scores = tl.dot(q, tl.trans(k.to(product_type)), input_precision="ieee") * scale
        scores = tl.where(key[None, :] <= position[:, None], scores, float("-inf"))
        v = tl.load(values + source, mask=exists[:, None], other=0.0)
        # Every row sees key 0, which is in the first block: the maximum is finite from there on.
        new_largest = tl.maximum(largest, tl.max(scores, axis=1))
        decay = tl.exp2(largest - new_largest)
        weight = tl.exp2(scores - new_largest[:, None])
        total = total * decay + tl.sum(weight, axis=1)
        sum_values = tl.dot(
            weight.to(product_type), v.to(product_type), sum_values * decay[:, None], input_precision="ieee"
        )
        largest = new_largest
    tl.store(attended + place, (sum_values / total[:, None]).to(attended.dtype.element_ty), mask=is_token[:, None])
