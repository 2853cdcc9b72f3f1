"""The codec's transformer between its matrix products: norms, rotation, gated units and windowed attention.

Sums, norms, rotation and softmax are float32, and so is the residual stream: a layer adds a hundredth of it, less than
a 16-bit float's last bits.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

_KEYS_PER_STEP = 64


def scaled_add_norm(residual: Tensor, update: Tensor, scale: Tensor, gain: Tensor, eps: float, out: Tensor) -> None:
    """residual += update * scale, then out = RMSNorm(residual) * gain.

    residual: float32 (M, C), changed in place. update, out: (M, C). scale, gain: float32 (C,).
    """
    rows, width = residual.shape
    tile = triton.next_power_of_2(width)
    _add_norm[(rows,)](residual, update, scale, gain, out, eps, HAS_UPDATE=True, WIDTH=width, TILE=tile)


def norm(residual: Tensor, gain: Tensor, eps: float, out: Tensor) -> None:
    """out = RMSNorm(residual) * gain. residual: float32 (M, C); out: (M, C); gain: float32 (C,)."""
    rows, width = residual.shape
    tile = triton.next_power_of_2(width)
    _add_norm[(rows,)](residual, residual, gain, gain, out, eps, HAS_UPDATE=False, WIDTH=width, TILE=tile)


def gated(gate_up: Tensor, out: Tensor) -> None:
    """out (M, I) = silu(gate) * up of gate_up (M, 2 I)."""
    rows, width = out.shape
    _gated[(rows, triton.cdiv(width, 1024))](gate_up, out, WIDTH=width, TILE=min(1024, triton.next_power_of_2(width)))


def rotate_and_keep(qkv: Tensor, frequencies: Tensor, starts: Tensor, queries: Tensor, kept: Tensor) -> None:
    """Turns queries and keys to their positions; keys and values become the newest rows of the attention's
    buffer.

    qkv: (B * T, 3 * heads * d). frequencies: float32 (d / 2,). starts: int32 (B,), position of each stream's first new
    frame. queries: out, (B * T, heads * d). kept: (B, window - 1 + T, 2 * heads * d), keys before values.
    """
    num_streams, num_rows, width = kept.shape
    heads_width = width // 2
    half = frequencies.shape[0]
    num_frames = qkv.shape[0] // num_streams
    _rotate_and_keep[(qkv.shape[0],)](
        qkv,
        frequencies,
        starts,
        queries,
        kept,
        num_frames,
        num_rows - num_frames,
        kept.stride(0),
        HEADS=heads_width // (2 * half),
        HALF=half,
        TILE_HEADS=triton.next_power_of_2(heads_width // (2 * half)),
        TILE_HALF=triton.next_power_of_2(half),
    )


def window_attention(queries: Tensor, kept: Tensor, starts: Tensor, num_heads: int, out: Tensor) -> None:
    """Each query sees itself and the `past` rows before it, as far as the stream has them.

    queries, out: (B * T, heads * d). kept: (B, past + T, 2 * heads * d). starts: int32 (B,).
    """
    num_streams, num_rows, width = kept.shape
    num_frames = queries.shape[0] // num_streams
    head_dim = width // 2 // num_heads
    queries_per_program = 16 if num_frames <= 16 else 64
    _window_attention[(triton.cdiv(num_frames, queries_per_program), num_heads, num_streams)](
        queries,
        kept,
        starts,
        out,
        num_frames,
        kept.stride(0),
        head_dim**-0.5,
        PAST=num_rows - num_frames,
        HEADS=num_heads,
        HEAD_DIM=head_dim,
        TILE_HEAD=max(16, triton.next_power_of_2(head_dim)),
        QUERIES=queries_per_program,
        KEYS=_KEYS_PER_STEP,
        num_warps=4,
        PRECISION="ieee" if queries.element_size() == 4 else "tf32",
    )


@triton.jit
def _add_norm(
    residual: tl.tensor,
    update: tl.tensor,
    scale: tl.tensor,
    gain: tl.tensor,
    out: tl.tensor,
    eps: tl.tensor,
    HAS_UPDATE: tl.constexpr,
    WIDTH: tl.constexpr,
    TILE: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, TILE)
    inside = lane < WIDTH
    x = tl.load(residual + row * WIDTH + lane, mask=inside, other=0.0)
    if HAS_UPDATE:
        more = tl.load(update + row * WIDTH + lane, mask=inside, other=0.0).to(tl.float32)
        x += more * tl.load(scale + lane, mask=inside, other=0.0)
        tl.store(residual + row * WIDTH + lane, x, mask=inside)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / WIDTH + eps) * tl.load(gain + lane, mask=inside, other=0.0)
    tl.store(out + row * WIDTH + lane, y.to(out.dtype.element_ty), mask=inside)


@triton.jit
def _gated(gate_up: tl.tensor, out: tl.tensor, WIDTH: tl.constexpr, TILE: tl.constexpr) -> None:
    row = tl.program_id(0).to(tl.int64)
    lane = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = lane < WIDTH
    gate = tl.load(gate_up + row * (2 * WIDTH) + lane, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up + row * (2 * WIDTH) + WIDTH + lane, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * WIDTH + lane, (gate * tl.sigmoid(gate) * up).to(out.dtype.element_ty), mask=inside)


@triton.jit
def _rotate_and_keep(
    qkv: tl.tensor,
    frequencies: tl.tensor,
    starts: tl.tensor,
    queries: tl.tensor,
    kept: tl.tensor,
    num_frames: tl.tensor,
    past: tl.tensor,
    kept_stride: tl.tensor,
    HEADS: tl.constexpr,
    HALF: tl.constexpr,
    TILE_HEADS: tl.constexpr,
    TILE_HALF: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    stream = row // num_frames
    time = row % num_frames
    width: tl.constexpr = HEADS * 2 * HALF
    head = tl.arange(0, TILE_HEADS)
    lane = tl.arange(0, TILE_HALF)
    inside = (head < HEADS)[:, None] & (lane < HALF)[None, :]
    first = head[:, None] * (2 * HALF) + lane[None, :]
    second = first + HALF

    position = (tl.load(starts + stream) + time).to(tl.float32)
    angle = position * tl.load(frequencies + lane, mask=lane < HALF, other=0.0)
    cosine, sine = tl.cos(angle)[None, :], tl.sin(angle)[None, :]
    source = qkv + row * (3 * width)
    target = kept + stream * kept_stride + (past + time) * (2 * width)

    a = tl.load(source + first, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(source + second, mask=inside, other=0.0).to(tl.float32)
    tl.store(queries + row * width + first, (a * cosine - b * sine).to(queries.dtype.element_ty), mask=inside)
    tl.store(queries + row * width + second, (b * cosine + a * sine).to(queries.dtype.element_ty), mask=inside)
    a = tl.load(source + width + first, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(source + width + second, mask=inside, other=0.0).to(tl.float32)
    tl.store(target + first, (a * cosine - b * sine).to(kept.dtype.element_ty), mask=inside)
    tl.store(target + second, (b * cosine + a * sine).to(kept.dtype.element_ty), mask=inside)
    tl.store(target + width + first, tl.load(source + 2 * width + first, mask=inside), mask=inside)
    tl.store(target + width + second, tl.load(source + 2 * width + second, mask=inside), mask=inside)


@triton.jit
def _window_attention(
    queries: tl.tensor,
    kept: tl.tensor,
    starts: tl.tensor,
    out: tl.tensor,
    num_frames: tl.tensor,
    kept_stride: tl.tensor,
    scale: tl.tensor,
    PAST: tl.constexpr,
    HEADS: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    TILE_HEAD: tl.constexpr,
    QUERIES: tl.constexpr,
    KEYS: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    head = tl.program_id(1)
    stream = tl.program_id(2).to(tl.int64)
    width: tl.constexpr = HEADS * HEAD_DIM
    steps: tl.constexpr = (PAST + QUERIES + KEYS - 1) // KEYS
    first_query = tl.program_id(0) * QUERIES
    time = first_query + tl.arange(0, QUERIES)
    lane = tl.arange(0, TILE_HEAD)
    is_lane = lane < HEAD_DIM

    query_offset = (stream * num_frames + time)[:, None] * width + head * HEAD_DIM + lane[None, :]
    is_query = (time < num_frames)[:, None] & is_lane[None, :]
    q = tl.load(queries + query_offset, mask=is_query, other=0.0)
    # Buffer row j holds the frame j - PAST of this chunk; the stream has none before its position 0.
    oldest = tl.maximum(0, PAST - tl.load(starts + stream))
    stream_kept = kept + stream * kept_stride + head * HEAD_DIM

    best = tl.full((QUERIES,), -1.0e30, dtype=tl.float32)
    weight = tl.zeros((QUERIES,), dtype=tl.float32)
    total = tl.zeros((QUERIES, TILE_HEAD), dtype=tl.float32)
    for step in range(steps):
        row = first_query + step * KEYS + tl.arange(0, KEYS)
        is_row = row < PAST + num_frames
        key_offset = row[:, None] * (2 * width) + lane[None, :]
        is_key = is_row[:, None] & is_lane[None, :]
        key = tl.load(stream_kept + key_offset, mask=is_key, other=0.0)
        score = tl.dot(q, tl.trans(key), input_precision=PRECISION) * scale
        seen = (row[None, :] >= time[:, None]) & (row[None, :] <= time[:, None] + PAST)
        seen = seen & (row[None, :] >= oldest) & is_row[None, :]
        score = tl.where(seen, score, -1.0e30)
        new_best = tl.maximum(best, tl.max(score, axis=1))
        share = tl.where(seen, tl.exp(score - new_best[:, None]), 0.0)
        fade = tl.exp(best - new_best)
        value = tl.load(stream_kept + width + key_offset, mask=is_key, other=0.0)
        weight = weight * fade + tl.sum(share, axis=1)
        total = total * fade[:, None]
        total = tl.dot(share.to(value.dtype), value, total, input_precision=PRECISION)
        best = new_best
    # Rows behind the last frame have seen nothing; they are not stored.
    y = total / tl.where(weight > 0.0, weight, 1.0)[:, None]
    tl.store(out + query_offset, y.to(out.dtype.element_ty), mask=is_query)
