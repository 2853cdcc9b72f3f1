"""The code predictor's attention inside one frame: norm, rotation, cache and softmax in one launch.

A frame has at most as many positions as codebooks, so a program, which is one query head of one row, holds all keys
and values that it sees. It is one warp, and what its lanes exchange stays in registers. The new key is used as the
cache will return it, in the cache's precision; the first query head of a group stores it.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from worker.engine.cuda.kernels.programmatic_launch import let_next_start, overlaps, wait_for_inputs
from worker.engine.cuda.kernels.rotary_heads import normed_and_rotated


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
    _attend_position[(num_rows, num_kv_heads * group)](
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
        head_dim=head_dim,
        capacity=keys.shape[2],
        key_block=triton.next_power_of_2(keys.shape[2]),
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=1,
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
    _attend_first_pair[(num_tokens // 2, num_kv_heads * group)](
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
        head_dim=head_dim,
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
    head_dim: tl.constexpr,
    capacity: tl.constexpr,
    key_block: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    wait_for_inputs(overlap)
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    kv_head = head // group
    lane = tl.arange(0, head_dim)
    history = (row * num_kv_heads + kv_head) * capacity * head_dim
    past = tl.arange(0, key_block)
    place = history + past[:, None] * head_dim + lane[None, :]
    past_k = tl.load(keys + place, mask=(past < position)[:, None], other=0.0)
    past_v = tl.load(values + place, mask=(past < position)[:, None], other=0.0)
    token = qkv + row * (group + 2) * num_kv_heads * head_dim
    k, v = _new_key_and_value(
        token, kv_head, k_weight, cos, sin, keys, values, position, eps, num_kv_heads, group, head_dim
    )
    q = normed_and_rotated(token + head * head_dim, q_weight, cos, sin, position, eps, head_dim) * scale

    scores = tl.sum(past_k.to(tl.float32) * q[None, :], axis=1)
    scores = tl.where(past < position, scores, float("-inf"))
    own_score = tl.sum(k.to(tl.float32) * q, axis=0)
    largest = tl.maximum(tl.max(scores, axis=0), own_score)
    weights = tl.exp(scores - largest)
    own_weight = tl.exp(own_score - largest)
    total = tl.sum(weights, axis=0) + own_weight
    out = (tl.sum(past_v.to(tl.float32) * weights[:, None], axis=0) + v.to(tl.float32) * own_weight) / total
    tl.store(attended + (row * num_kv_heads * group + head) * head_dim + lane, out.to(attended.dtype.element_ty))
    if head % group == 0:
        tl.store(keys + history + position * head_dim + lane, k)
        tl.store(values + history + position * head_dim + lane, v)


@triton.jit(do_not_specialize=["num_rows"])
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
    head_dim: tl.constexpr,
    capacity: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    wait_for_inputs(overlap)
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    kv_head = head // group
    lane = tl.arange(0, head_dim)
    token0 = qkv + row * (group + 2) * num_kv_heads * head_dim
    token1 = token0 + num_rows.to(tl.int64) * (group + 2) * num_kv_heads * head_dim
    k0, v0 = _new_key_and_value(
        token0, kv_head, k_weight, cos, sin, keys, values, 0, eps, num_kv_heads, group, head_dim
    )
    k1, v1 = _new_key_and_value(
        token1, kv_head, k_weight, cos, sin, keys, values, 1, eps, num_kv_heads, group, head_dim
    )
    q = normed_and_rotated(token1 + head * head_dim, q_weight, cos, sin, 1, eps, head_dim) * scale

    score0 = tl.sum(k0.to(tl.float32) * q, axis=0)
    score1 = tl.sum(k1.to(tl.float32) * q, axis=0)
    largest = tl.maximum(score0, score1)
    weight0 = tl.exp(score0 - largest)
    weight1 = tl.exp(score1 - largest)
    out = (v0.to(tl.float32) * weight0 + v1.to(tl.float32) * weight1) / (weight0 + weight1)
    target = attended + (row * num_kv_heads * group + head) * head_dim + lane
    # Position 0 sees itself alone.
    tl.store(target, v0.to(attended.dtype.element_ty))
    target += num_rows.to(tl.int64) * num_kv_heads * group * head_dim
    tl.store(target, out.to(attended.dtype.element_ty))
    if head % group == 0:
        history = (row * num_kv_heads + kv_head) * capacity * head_dim + lane
        tl.store(keys + history, k0)
        tl.store(values + history, v0)
        tl.store(keys + history + head_dim, k1)
        tl.store(values + history + head_dim, v1)


@triton.jit
def _new_key_and_value(
    token: tl.tensor,
    kv_head: tl.tensor,
    k_weight: tl.tensor,
    cos: tl.tensor,
    sin: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    position: tl.tensor,
    eps: tl.tensor,
    num_kv_heads: tl.constexpr,
    group: tl.constexpr,
    head_dim: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:
    """A token's key and value of one KV head as the cache is to have them, (d,) each."""
    source = token + (num_kv_heads * group + kv_head) * head_dim
    k = normed_and_rotated(source, k_weight, cos, sin, position, eps, head_dim)
    v = tl.load(source + num_kv_heads * head_dim + tl.arange(0, head_dim))
    return k.to(keys.dtype.element_ty), v.to(values.dtype.element_ty)
