"""Queries, keys and values of new tokens: per-head RMSNorm, rotation, and the way into the KV cache.

Cached layers are (slots, kv_heads, capacity, head_dim): the history of one head is one stream of memory.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from worker.engine.cuda.kernels.programmatic_launch import let_next_start, overlaps, wait_for_inputs

# Heads that one program works on: 8 of 128 lanes are 16 elements for each of 64 threads.
_HEADS_AT_ONCE = 8


def rotate_and_store(
    qkv: Tensor,
    q_weight: Tensor,
    k_weight: Tensor,
    eps: float,
    cos: Tensor,
    sin: Tensor,
    slots: Tensor,
    positions: Tensor,
    keys: Tensor,
    values: Tensor,
) -> Tensor:
    """Normed and rotated queries (N, H * d); keys and values go to the cache at (slot, position) of each token.

    qkv: (N, (H + 2 * KV) * d). q_weight, k_weight: (d,). cos, sin: float32 (positions, d / 2), factors of the
    half-split rotation. slots, positions: int32 (N,). keys, values: one layer of the cache, contiguous.
    Norm and rotation are computed in fp32.
    """
    num_tokens, head_dim = qkv.shape[0], keys.shape[3]
    num_kv_heads = keys.shape[1]
    num_heads = qkv.shape[1] // head_dim - 2 * num_kv_heads
    queries = qkv.new_empty(num_tokens, num_heads * head_dim)
    total_heads = num_heads + 2 * num_kv_heads
    overlap = overlaps(qkv)
    _rotate_and_store[(num_tokens, triton.cdiv(total_heads, _HEADS_AT_ONCE))](
        qkv,
        q_weight,
        k_weight,
        cos,
        sin,
        slots,
        positions,
        queries,
        keys,
        values,
        eps,
        keys.stride(0),
        keys.stride(1),
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        half=head_dim // 2,
        heads_at_once=_HEADS_AT_ONCE,
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=2,
    )
    return queries


@triton.jit
def _rotate_and_store(
    qkv: tl.tensor,
    q_weight: tl.tensor,
    k_weight: tl.tensor,
    cos: tl.tensor,
    sin: tl.tensor,
    slots: tl.tensor,
    positions: tl.tensor,
    queries: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    eps: tl.tensor,
    slot_stride: tl.tensor,
    head_stride: tl.tensor,
    num_heads: tl.constexpr,
    num_kv_heads: tl.constexpr,
    half: tl.constexpr,
    heads_at_once: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    wait_for_inputs(overlap)
    token = tl.program_id(0).to(tl.int64)
    head = (tl.program_id(1) * heads_at_once + tl.arange(0, heads_at_once))[:, None]
    lane = tl.arange(0, half)[None, :]
    total: tl.constexpr = num_heads + 2 * num_kv_heads
    is_query, is_value = head < num_heads, head >= num_heads + num_kv_heads
    exists = (head < total) & (lane < half)

    source = qkv + token * total * half * 2 + head * half * 2 + lane
    first = tl.load(source, mask=exists, other=0.0).to(tl.float32)
    second = tl.load(source + half, mask=exists, other=0.0).to(tl.float32)
    position = tl.load(positions + token)
    normed_first, normed_second = _norm_halves(first, second, q_weight, k_weight, is_query, eps, half)
    rotated_first, rotated_second = _rotate_halves(normed_first, normed_second, cos, sin, position, half)
    first = tl.where(is_value, first, rotated_first)
    second = tl.where(is_value, second, rotated_second)

    target = queries + token * num_heads * half * 2 + head * half * 2 + lane
    tl.store(target, first.to(queries.dtype.element_ty), mask=exists & is_query)
    tl.store(target + half, second.to(queries.dtype.element_ty), mask=exists & is_query)
    base = tl.load(slots + token).to(tl.int64) * slot_stride + position.to(tl.int64) * half * 2
    is_key = (head >= num_heads) & (head < num_heads + num_kv_heads) & (lane < half)
    target = keys + base + (head - num_heads) * head_stride + lane
    tl.store(target, first.to(keys.dtype.element_ty), mask=is_key)
    tl.store(target + half, second.to(keys.dtype.element_ty), mask=is_key)
    target = values + base + (head - num_heads - num_kv_heads) * head_stride + lane
    tl.store(target, first.to(values.dtype.element_ty), mask=exists & is_value)
    tl.store(target + half, second.to(values.dtype.element_ty), mask=exists & is_value)


@triton.jit
def _norm_halves(
    first: tl.tensor,
    second: tl.tensor,
    q_weight: tl.tensor,
    k_weight: tl.tensor,
    is_query: tl.tensor,
    eps: tl.tensor,
    half: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:
    """RMSNorm of heads given as two halves (heads, d / 2) in fp32; `is_query` (heads, 1) chooses the weight."""
    lane = tl.arange(0, half)[None, :]
    squares = tl.sum(first * first, axis=1) + tl.sum(second * second, axis=1)
    scale = tl.rsqrt(squares / (2 * half) + eps)[:, None]
    weight_first = tl.where(is_query, tl.load(q_weight + lane).to(tl.float32), tl.load(k_weight + lane).to(tl.float32))
    weight_second = tl.where(
        is_query, tl.load(q_weight + half + lane).to(tl.float32), tl.load(k_weight + half + lane).to(tl.float32)
    )
    return first * scale * weight_first, second * scale * weight_second


@triton.jit
def _rotate_halves(
    first: tl.tensor,
    second: tl.tensor,
    cos: tl.tensor,
    sin: tl.tensor,
    position: tl.tensor,
    half: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:
    """Rotate heads given as two halves (heads, d / 2) to one position."""
    lane = tl.arange(0, half)[None, :]
    cosine = tl.load(cos + position * half + lane)
    sine = tl.load(sin + position * half + lane)
    return first * cosine - second * sine, second * cosine + first * sine


@triton.jit
def normed_and_rotated(
    source: tl.tensor,
    norm_weight: tl.tensor,
    cos: tl.tensor,
    sin: tl.tensor,
    position: tl.tensor,
    eps: tl.tensor,
    head_dim: tl.constexpr,
) -> tl.tensor:
    """The head that begins at `source`, normed and rotated: fp32 (d,)."""
    half: tl.constexpr = head_dim // 2
    lane = tl.arange(0, head_dim)
    partner = (lane + half) % head_dim
    x = tl.load(source + lane).to(tl.float32)
    swapped = tl.load(source + partner).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / head_dim + eps)
    x = x * scale * tl.load(norm_weight + lane).to(tl.float32)
    swapped = swapped * scale * tl.load(norm_weight + partner).to(tl.float32)
    cosine = tl.load(cos + position * half + lane % half)
    sine = tl.load(sin + position * half + lane % half)
    return x * cosine + swapped * tl.where(lane < half, -sine, sine)
