"""The code predictor's attention inside one frame: norm, rotation, cache and softmax in one launch.

A frame has at most as many positions as codebooks, so a program holds all keys and values of one row and KV head.
The keys of the new positions are used as the cache will return them, in the cache's precision.
"""

# Triton reads the kernels' source; its Python types describe neither device code nor launch options.
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportReturnType=false
# pyright: reportArgumentType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false
from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from worker.engine.native.cuda.kernels.programmatic_launch import let_next_start, overlaps, wait_for_inputs
from worker.engine.native.cuda.kernels.rotary_heads import norm_halves, rotate_halves


def predictor_attention(
    qkv: Tensor,
    q_weight: Tensor,
    k_weight: Tensor,
    eps: float,
    cos: Tensor,
    sin: Tensor,
    keys: Tensor,
    values: Tensor,
    position: int,
    num_new: int,
) -> Tensor:
    """`attend_position`, or for two new positions, which are then 0 and 1, `attend_first_pair`."""
    factors = (q_weight, k_weight, eps, cos, sin)
    match position, num_new:
        case 0, 2:
            return attend_first_pair(qkv, *factors, keys, values)
        case _, 1:
            return attend_position(qkv, *factors, keys, values, position)
        case _:
            raise ValueError(f"{num_new} new positions from {position} on: it is one anywhere, or two at the start")


def attend_position(
    qkv: Tensor,
    q_weight: Tensor,
    k_weight: Tensor,
    eps: float,
    cos: Tensor,
    sin: Tensor,
    keys: Tensor,
    values: Tensor,
    position: int,
) -> Tensor:
    """Attended values (B, H * d) of every row's token at `position`; its key and value go to the cache.

    qkv: (B, (H + 2 * KV) * d). q_weight, k_weight: (d,). cos, sin: float32 (positions, d / 2). keys, values: one
    layer, (rows, KV, positions, d) contiguous, rows >= B.
    """
    num_rows, num_kv_heads, head_dim, group = _dimensions(qkv, keys)
    attended = qkv.new_empty(num_rows, num_kv_heads * group * head_dim)
    overlap = overlaps(qkv)
    _attend_position[(num_rows, num_kv_heads)](
        qkv,
        q_weight,
        k_weight,
        cos,
        sin,
        keys,
        values,
        attended,
        eps,
        head_dim**-0.5,
        position,
        num_kv_heads=num_kv_heads,
        group=group,
        head_tile=triton.next_power_of_2(group + 2),
        half=head_dim // 2,
        capacity=keys.shape[2],
        key_block=triton.next_power_of_2(keys.shape[2]),
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=2,
    )
    return attended


def attend_first_pair(
    qkv: Tensor,
    q_weight: Tensor,
    k_weight: Tensor,
    eps: float,
    cos: Tensor,
    sin: Tensor,
    keys: Tensor,
    values: Tensor,
) -> Tensor:
    """The same for positions 0 and 1 at once: qkv (2 * B, …) with all rows' position 0 first -> (2 * B, H * d)."""
    num_tokens, num_kv_heads, head_dim, group = _dimensions(qkv, keys)
    attended = qkv.new_empty(num_tokens, num_kv_heads * group * head_dim)
    overlap = overlaps(qkv)
    _attend_first_pair[(num_tokens // 2, num_kv_heads)](
        qkv,
        q_weight,
        k_weight,
        cos,
        sin,
        keys,
        values,
        attended,
        eps,
        head_dim**-0.5,
        num_tokens // 2,
        num_kv_heads=num_kv_heads,
        group=group,
        head_tile=triton.next_power_of_2(group + 2),
        half=head_dim // 2,
        capacity=keys.shape[2],
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=1,
    )
    return attended


def _dimensions(qkv: Tensor, keys: Tensor) -> tuple[int, int, int, int]:
    """Tokens, KV heads, head dimension, query heads of each KV head."""
    num_kv_heads, head_dim = keys.shape[1], keys.shape[3]
    return qkv.shape[0], num_kv_heads, head_dim, (qkv.shape[1] // head_dim - 2 * num_kv_heads) // num_kv_heads


@triton.jit(do_not_specialize=["position"])
def _attend_position(
    qkv: tl.tensor,
    q_weight: tl.tensor,
    k_weight: tl.tensor,
    cos: tl.tensor,
    sin: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    attended: tl.tensor,
    eps: tl.tensor,
    scale: tl.tensor,
    position: tl.tensor,
    num_kv_heads: tl.constexpr,
    group: tl.constexpr,
    head_tile: tl.constexpr,
    half: tl.constexpr,
    capacity: tl.constexpr,
    key_block: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    wait_for_inputs(overlap)
    row = tl.program_id(0).to(tl.int64)
    kv_head = tl.program_id(1)
    lane = tl.arange(0, half)
    history = (row * num_kv_heads + kv_head) * capacity * half * 2
    past = tl.arange(0, key_block)
    is_past = (past < position)[:, None]
    place = history + past[:, None] * half * 2 + lane[None, :]
    past_k_first = tl.load(keys + place, mask=is_past, other=0.0).to(tl.float32)
    past_k_second = tl.load(keys + place + half, mask=is_past, other=0.0).to(tl.float32)
    past_v_first = tl.load(values + place, mask=is_past, other=0.0).to(tl.float32)
    past_v_second = tl.load(values + place + half, mask=is_past, other=0.0).to(tl.float32)

    first, second = _new_heads(
        qkv, row, kv_head, q_weight, k_weight, cos, sin, position, eps, num_kv_heads, group, head_tile, half
    )
    k_first, k_second, v_first, v_second = _store_new(
        first, second, keys, values, history, position, group, head_tile, half
    )
    target = attended + (row * num_kv_heads + kv_head) * group * half * 2 + lane
    for query in tl.static_range(group):
        q_first = _head_of(first, query, head_tile) * scale
        q_second = _head_of(second, query, head_tile) * scale
        scores = tl.sum(past_k_first * q_first[None, :] + past_k_second * q_second[None, :], axis=1)
        scores = tl.where(past < position, scores, float("-inf"))
        own_score = tl.sum(k_first * q_first + k_second * q_second, axis=0)
        largest = tl.maximum(tl.max(scores, axis=0), own_score)
        weights = tl.exp(scores - largest)
        own_weight = tl.exp(own_score - largest)
        total = tl.sum(weights, axis=0) + own_weight
        out_first = (tl.sum(past_v_first * weights[:, None], axis=0) + v_first * own_weight) / total
        out_second = (tl.sum(past_v_second * weights[:, None], axis=0) + v_second * own_weight) / total
        tl.store(target + query * half * 2, out_first.to(attended.dtype.element_ty))
        tl.store(target + query * half * 2 + half, out_second.to(attended.dtype.element_ty))


@triton.jit
def _attend_first_pair(
    qkv: tl.tensor,
    q_weight: tl.tensor,
    k_weight: tl.tensor,
    cos: tl.tensor,
    sin: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    attended: tl.tensor,
    eps: tl.tensor,
    scale: tl.tensor,
    num_rows: tl.tensor,
    num_kv_heads: tl.constexpr,
    group: tl.constexpr,
    head_tile: tl.constexpr,
    half: tl.constexpr,
    capacity: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    wait_for_inputs(overlap)
    row = tl.program_id(0).to(tl.int64)
    kv_head = tl.program_id(1)
    lane = tl.arange(0, half)
    history = (row * num_kv_heads + kv_head) * capacity * half * 2
    first, second = _new_heads(
        qkv, row, kv_head, q_weight, k_weight, cos, sin, 0, eps, num_kv_heads, group, head_tile, half
    )
    k0_first, k0_second, v0_first, v0_second = _store_new(
        first, second, keys, values, history, 0, group, head_tile, half
    )
    first, second = _new_heads(
        qkv, row + num_rows, kv_head, q_weight, k_weight, cos, sin, 1, eps, num_kv_heads, group, head_tile, half
    )
    k1_first, k1_second, v1_first, v1_second = _store_new(
        first, second, keys, values, history, 1, group, head_tile, half
    )
    target0 = attended + (row * num_kv_heads + kv_head) * group * half * 2 + lane
    target1 = attended + ((row + num_rows) * num_kv_heads + kv_head) * group * half * 2 + lane
    for query in tl.static_range(group):
        q_first = _head_of(first, query, head_tile) * scale
        q_second = _head_of(second, query, head_tile) * scale
        score0 = tl.sum(k0_first * q_first + k0_second * q_second, axis=0)
        score1 = tl.sum(k1_first * q_first + k1_second * q_second, axis=0)
        largest = tl.maximum(score0, score1)
        weight0 = tl.exp(score0 - largest)
        weight1 = tl.exp(score1 - largest)
        total = weight0 + weight1
        place = query * half * 2
        # Position 0 sees itself alone.
        tl.store(target0 + place, v0_first.to(attended.dtype.element_ty))
        tl.store(target0 + place + half, v0_second.to(attended.dtype.element_ty))
        out_first = (v0_first * weight0 + v1_first * weight1) / total
        out_second = (v0_second * weight0 + v1_second * weight1) / total
        tl.store(target1 + place, out_first.to(attended.dtype.element_ty))
        tl.store(target1 + place + half, out_second.to(attended.dtype.element_ty))


@triton.jit
def _new_heads(
    qkv: tl.tensor,
    token: tl.tensor,
    kv_head: tl.tensor,
    q_weight: tl.tensor,
    k_weight: tl.tensor,
    cos: tl.tensor,
    sin: tl.tensor,
    position: tl.tensor,
    eps: tl.tensor,
    num_kv_heads: tl.constexpr,
    group: tl.constexpr,
    head_tile: tl.constexpr,
    half: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:
    """One KV head's queries, then its key, then its value as the two halves (head_tile, d / 2) in fp32."""
    index = tl.arange(0, head_tile)[:, None]
    lane = tl.arange(0, half)[None, :]
    num_heads: tl.constexpr = num_kv_heads * group
    head = tl.where(index < group, kv_head * group + index, num_heads + kv_head + (index - group) * num_kv_heads)
    source = qkv + (token * (num_heads + 2 * num_kv_heads) + head) * half * 2 + lane
    exists = (index < group + 2) & (lane < half)
    first = tl.load(source, mask=exists, other=0.0).to(tl.float32)
    second = tl.load(source + half, mask=exists, other=0.0).to(tl.float32)
    normed_first, normed_second = norm_halves(first, second, q_weight, k_weight, index < group, eps, half)
    rotated_first, rotated_second = rotate_halves(normed_first, normed_second, cos, sin, position, half)
    is_value = index == group + 1
    return tl.where(is_value, first, rotated_first), tl.where(is_value, second, rotated_second)


@triton.jit
def _store_new(
    first: tl.tensor,
    second: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    history: tl.tensor,
    position: tl.tensor,
    group: tl.constexpr,
    head_tile: tl.constexpr,
    half: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor]:
    """Store key and value of a new position; returns their halves as the cache has them, in fp32."""
    k_first = _head_of(first, group, head_tile).to(keys.dtype.element_ty)
    k_second = _head_of(second, group, head_tile).to(keys.dtype.element_ty)
    v_first = _head_of(first, group + 1, head_tile).to(values.dtype.element_ty)
    v_second = _head_of(second, group + 1, head_tile).to(values.dtype.element_ty)
    place = history + position * half * 2 + tl.arange(0, half)
    tl.store(keys + place, k_first)
    tl.store(keys + place + half, k_second)
    tl.store(values + place, v_first)
    tl.store(values + place + half, v_second)
    return k_first.to(tl.float32), k_second.to(tl.float32), v_first.to(tl.float32), v_second.to(tl.float32)


@triton.jit
def _head_of(heads: tl.tensor, index: tl.constexpr, head_tile: tl.constexpr) -> tl.tensor:
    """Row `index` of (head_tile, d / 2)."""
    return tl.sum(tl.where(tl.arange(0, head_tile)[:, None] == index, heads, 0.0), axis=0)
