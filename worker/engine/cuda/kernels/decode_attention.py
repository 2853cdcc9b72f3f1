"""Attention of one new token per row over the row's own history, split over several programs.

A program takes one row, one KV head with all its query heads, and one share of the history. The last program of a (row,
KV head) to finish merges the shares without a second launch. The order is fixed, so the result does not depend on which
one is last. How the history is cut depends on its length and the number of splits alone, never on the batch.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from worker.engine.cuda.kernels.programmatic_launch import let_next_start, overlaps, wait_for_inputs

PRODUCT_TYPES = {
    torch.float32: tl.float32,
    torch.float16: tl.float16,
    torch.bfloat16: tl.bfloat16,
    # Every number of eight bits is one of these, and the GPU converts two at once; to bfloat16 the way is longer.
    torch.float8_e4m3fn: tl.float16,
}
"""By the numbers of the cache. Queries and weights are rounded to them, sums are fp32."""


_LOG2_E = 1.4426950408889634
# Fewer query rows than this do not fill the matrix unit's tile; the rest of the tile is zeros.
_QUERY_TILE = 16
_KEY_BLOCK = 64
# Blocks of keys and values on their way while one is computed with.
_KEY_STAGES = 2
_NUM_WARPS = 4


def decode_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    slots: Tensor,
    positions: Tensor,
    num_splits: int,
    arrivals: Tensor,
) -> Tensor:
    """Attended values (B, H * d) of queries (B, H * d), each over positions 0 to its own, that one included.

    keys, values: one layer of the cache, (slots, KV, capacity, d), in any of `PRODUCT_TYPES`.
    slots, positions: int32 (B,).
    arrivals: int32, zero, at least B * KV; left zero. Calls that share it must follow one another on one stream.
    Softmax is computed in fp32.
    """
    num_rows = queries.shape[0]
    num_kv_heads, head_dim = keys.shape[1], keys.shape[3]
    group = queries.shape[1] // (num_kv_heads * head_dim)
    attended = torch.empty_like(queries)
    shares = queries.new_empty(num_rows * num_kv_heads * num_splits * group, head_dim, dtype=torch.float32)
    weights = queries.new_empty(2, num_rows * num_kv_heads * num_splits * group, dtype=torch.float32)
    overlap = overlaps(queries)
    _decode_attention[(num_splits, num_kv_heads, num_rows)](
        queries,
        keys,
        values,
        slots,
        positions,
        attended,
        shares,
        weights[0],
        weights[1],
        arrivals,
        head_dim**-0.5 * _LOG2_E,
        keys.stride(0),
        keys.stride(1),
        num_splits=num_splits,
        num_kv_heads=num_kv_heads,
        group=group,
        head_dim=head_dim,
        query_tile=max(_QUERY_TILE, triton.next_power_of_2(group)),
        group_tile=triton.next_power_of_2(group),
        key_block=_KEY_BLOCK,
        key_stages=_KEY_STAGES,
        product_type=PRODUCT_TYPES[keys.dtype],
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=_NUM_WARPS,
    )
    return attended


@triton.jit
def _decode_attention(
    queries: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    slots: tl.tensor,
    positions: tl.tensor,
    attended: tl.tensor,
    shares: tl.tensor,
    maxima: tl.tensor,
    sums: tl.tensor,
    arrivals: tl.tensor,
    scale: tl.tensor,
    slot_stride: tl.tensor,
    head_stride: tl.tensor,
    num_splits: tl.constexpr,
    num_kv_heads: tl.constexpr,
    group: tl.constexpr,
    head_dim: tl.constexpr,
    query_tile: tl.constexpr,
    group_tile: tl.constexpr,
    key_block: tl.constexpr,
    key_stages: tl.constexpr,
    product_type: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    wait_for_inputs(overlap)
    split = tl.program_id(0)
    head = tl.program_id(1)
    row = tl.program_id(2).to(tl.int64)
    query = tl.arange(0, query_tile)
    is_query = query < group
    lane = tl.arange(0, head_dim)
    query_row = row * num_kv_heads * group + head * group + query
    # Requested before the length says whether they are needed: one way to memory instead of three.
    length = tl.load(positions + row) + 1
    history = tl.load(slots + row).to(tl.int64) * slot_stride + head * head_stride
    q = tl.load(queries + query_row[:, None] * head_dim + lane[None, :], mask=is_query[:, None], other=0.0)
    q = q.to(product_type)
    # Whole blocks, so that only the last share of a history has a masked end.
    share = tl.cdiv(tl.cdiv(length, num_splits), key_block) * key_block
    begin = split * share
    if begin >= length:
        return
    end = tl.minimum(begin + share, length)
    used_splits = tl.cdiv(length, share)

    largest = tl.full([query_tile], float("-inf"), tl.float32)
    total = tl.zeros([query_tile], tl.float32)
    sum_values = tl.zeros([query_tile, head_dim], tl.float32)
    for start in tl.range(begin, end, key_block, num_stages=key_stages):
        position = start + tl.arange(0, key_block)
        exists = position < end
        place = history + position[:, None] * head_dim + lane[None, :]
        k = tl.load(keys + place, mask=exists[:, None], other=0.0)
        scores = tl.dot(q, tl.trans(k.to(product_type)), input_precision="ieee") * scale
        scores = tl.where(exists[None, :], scores, float("-inf"))
        v = tl.load(values + place, mask=exists[:, None], other=0.0)
        new_largest = tl.maximum(largest, tl.max(scores, axis=1))
        decay = tl.exp2(largest - new_largest)
        weight = tl.exp2(scores - new_largest[:, None])
        total = total * decay + tl.sum(weight, axis=1)
        sum_values = tl.dot(
            weight.to(product_type), v.to(product_type), sum_values * decay[:, None], input_precision="ieee"
        )
        largest = new_largest

    out = attended + query_row[:, None] * head_dim + lane[None, :]
    if used_splits == 1:
        tl.store(out, (sum_values / total[:, None]).to(attended.dtype.element_ty), mask=is_query[:, None])
        return
    # One share is `group` neighbouring rows of (row, KV head, split, query).
    first_share = (row * num_kv_heads + head) * num_splits * group
    share_row = first_share + split * group + query
    tl.store(shares + share_row[:, None] * head_dim + lane[None, :], sum_values, mask=is_query[:, None])
    tl.store(maxima + share_row, largest, mask=is_query)
    tl.store(sums + share_row, total, mask=is_query)
    # The barrier makes the whole program's stores precede the one thread's release.
    tl.debug_barrier()
    arrival = arrivals + row * num_kv_heads + head
    if tl.atomic_add(arrival, 1, sem="acq_rel") != used_splits - 1:
        return
    tl.store(arrival, 0)
    first_query = (row * num_kv_heads + head) * group
    _merge(
        shares, maxima, sums, attended, first_share, first_query, used_splits, num_splits, group, group_tile, head_dim
    )


@triton.jit
def _merge(
    shares: tl.tensor,
    maxima: tl.tensor,
    sums: tl.tensor,
    attended: tl.tensor,
    first_share: tl.tensor,
    first_query: tl.tensor,
    used_splits: tl.tensor,
    num_splits: tl.constexpr,
    group: tl.constexpr,
    group_tile: tl.constexpr,
    head_dim: tl.constexpr,
) -> None:
    """All shares at once, those not used with weight 0: in one order for every number of used splits."""
    split = tl.arange(0, num_splits)
    query = tl.arange(0, group_tile)
    lane = tl.arange(0, head_dim)
    place = first_share + split[:, None] * group + query[None, :]
    is_used = (split < used_splits)[:, None] & (query < group)[None, :]
    largest_of = tl.load(maxima + place, mask=is_used, other=float("-inf"))
    # Queries beyond the group have no share at all: neither their largest score nor their sum is one to count with.
    largest = tl.where(query < group, tl.max(largest_of, axis=0), 0.0)
    weight = tl.exp2(largest_of - largest[None, :])
    total = tl.sum(weight * tl.load(sums + place, mask=is_used, other=0.0), axis=0)
    total = tl.where(query < group, total, 1.0)
    share = tl.load(shares + place[:, :, None] * head_dim + lane[None, None, :], mask=is_used[:, :, None], other=0.0)
    out = tl.sum(share * weight[:, :, None], axis=0) / total[:, None]
    target = attended + (first_query + query)[:, None] * head_dim + lane[None, :]
    tl.store(target, out.to(attended.dtype.element_ty), mask=(query < group)[:, None])
