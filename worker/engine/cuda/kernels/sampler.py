"""Drawing codes: one program per row does what `sampling.py` does in a dozen passes, with the same noise.

Thresholds are exact and need no sort. Numbers are searched by their bits. A float's bits, with the sign folded in, have
the order of the floats. So a threshold is built from its highest bits down, by counting the entries that reach it. The
nucleus is found likewise: an entry belongs to it while the mass of all larger entries is below p.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from worker.engine.cuda.kernels.programmatic_launch import let_next_start, overlaps, wait_for_inputs
from worker.engine.cuda.slot_state import SlotState

_LARGEST_KEY = tl.constexpr(0x7FFFFFFF)
_INFINITY_KEY = tl.constexpr(0x7F800000)
_MINUS_INFINITY_KEY = tl.constexpr(-0x7F800001)
_NUM_WARPS = 8


def draw_first(logits: Tensor, slots: Tensor, state: SlotState, min_frames: int, codes: Tensor, finite: Tensor) -> None:
    """Draw the lane of codebook 0 into column 0 of `codes` and remember it in `state.present`.

    logits: (B, V + 1), possibly a view of wider rows; the last lane ends the speech and cannot be drawn before frame
    `min_frames`. slots: int32 (B,). codes: int32 (B, Q). finite: int8 (B, Q), column 0 becomes 0 where the draw is
    not finite.
    """
    num_rows, num_lanes = logits.shape
    overlap = overlaps(logits)
    _draw_first[(num_rows,)](
        logits,
        slots,
        state.seed,
        state.frame,
        state.penalty,
        state.present,
        state.talker.inverse_temperature,
        state.talker.noise_scale,
        state.talker.top_k,
        state.talker.top_p,
        codes,
        finite,
        logit_stride=logits.stride(0),
        code_stride=codes.stride(0),
        min_frames=min_frames,
        num_lanes=num_lanes,
        block=triton.next_power_of_2(num_lanes),
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=_NUM_WARPS,
    )


def draw_residual(
    logits: Tensor, codebook: int, slots: Tensor, state: SlotState, codes: Tensor, finite: Tensor
) -> None:
    """Draw codebook 1 to Q - 1 into its column of `codes` int32 (B, Q) and `finite` int8 (B, Q). logits: (B, V)."""
    num_rows, num_lanes = logits.shape
    overlap = overlaps(logits)
    _draw_residual[(num_rows,)](
        logits,
        slots,
        state.seed,
        state.frame,
        state.predictor.inverse_temperature,
        state.predictor.noise_scale,
        state.predictor.top_k,
        state.predictor.top_p,
        codes,
        finite,
        codebook,
        logit_stride=logits.stride(0),
        code_stride=codes.stride(0),
        num_lanes=num_lanes,
        block=triton.next_power_of_2(num_lanes),
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=_NUM_WARPS,
    )


@triton.jit
def _draw_first(
    logits: tl.tensor,
    slots: tl.tensor,
    seeds: tl.tensor,
    frames: tl.tensor,
    penalties: tl.tensor,
    present: tl.tensor,
    inverse_temperature: tl.tensor,
    noise_scale: tl.tensor,
    top_k: tl.tensor,
    top_p: tl.tensor,
    codes: tl.tensor,
    finite: tl.tensor,
    logit_stride: tl.constexpr,
    code_stride: tl.constexpr,
    min_frames: tl.constexpr,
    num_lanes: tl.constexpr,
    block: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    wait_for_inputs(overlap)
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + row).to(tl.int64)
    frame = tl.load(frames + slot)
    lanes = tl.arange(0, block)
    inside = lanes < num_lanes
    x = tl.load(logits + row * logit_stride + lanes, mask=inside, other=0.0).to(tl.float32)
    drawn_before = tl.load(present + slot * num_lanes + lanes, mask=inside, other=0) != 0
    penalty = tl.load(penalties + slot)
    x = tl.where(drawn_before, tl.where(x > 0, x / penalty, x * penalty), x)
    x = tl.where((lanes == num_lanes - 1) & (frame < min_frames), float("-inf"), x)
    lane, is_finite = _draw(
        x,
        lanes,
        inside,
        tl.load(seeds + slot),
        frame,
        0,
        tl.load(inverse_temperature + slot),
        tl.load(noise_scale + slot),
        tl.load(top_k + slot),
        tl.load(top_p + slot),
        num_lanes,
        block,
    )
    tl.store(codes + row * code_stride, lane)
    tl.store(finite + row * code_stride, is_finite.to(tl.int8))
    # A row whose speech has ended goes on with the last code to the end of the frame.
    tl.store(present + slot * num_lanes + tl.minimum(lane, num_lanes - 2), 1)


@triton.jit(do_not_specialize=["codebook"])
def _draw_residual(
    logits: tl.tensor,
    slots: tl.tensor,
    seeds: tl.tensor,
    frames: tl.tensor,
    inverse_temperature: tl.tensor,
    noise_scale: tl.tensor,
    top_k: tl.tensor,
    top_p: tl.tensor,
    codes: tl.tensor,
    finite: tl.tensor,
    codebook: tl.tensor,
    logit_stride: tl.constexpr,
    code_stride: tl.constexpr,
    num_lanes: tl.constexpr,
    block: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    wait_for_inputs(overlap)
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + row).to(tl.int64)
    lanes = tl.arange(0, block)
    inside = lanes < num_lanes
    x = tl.load(logits + row * logit_stride + lanes, mask=inside, other=0.0).to(tl.float32)
    code, is_finite = _draw(
        x,
        lanes,
        inside,
        tl.load(seeds + slot),
        tl.load(frames + slot),
        codebook,
        tl.load(inverse_temperature + slot),
        tl.load(noise_scale + slot),
        tl.load(top_k + slot),
        tl.load(top_p + slot),
        num_lanes,
        block,
    )
    tl.store(codes + row * code_stride + codebook, code)
    tl.store(finite + row * code_stride + codebook, is_finite.to(tl.int8))


@triton.jit
def _draw(
    logits: tl.tensor,
    lanes: tl.tensor,
    inside: tl.tensor,
    seed: tl.tensor,
    frame: tl.tensor,
    codebook: tl.tensor,
    inverse_temperature: tl.tensor,
    noise_scale: tl.tensor,
    top_k: tl.tensor,
    top_p: tl.tensor,
    num_lanes: tl.constexpr,
    block: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:
    """The drawn lane (int32) and whether its score is finite, of the float32 logits (block,) of one row."""
    scaled = logits * inverse_temperature
    # Lanes beyond the vocabulary are below everything, minus infinity too.
    rank_key = tl.where(inside, _ordered(_sort_key(scaled)), 0)
    threshold = tl.full([], 0, tl.uint32)
    if top_k < num_lanes:
        threshold = _kth_largest(rank_key, top_k)
    if top_p < 1.0:
        threshold = _nucleus_threshold(scaled, rank_key, threshold, top_k, top_p)
    score = scaled
    if noise_scale != 0.0:
        score = scaled + gumbel_noise(seed, frame, codebook, lanes) * noise_scale
    # A NaN has the largest key: it stays and wins, and the sick row shows.
    score_key = _sort_key(tl.where(rank_key >= threshold, score, float("-inf")))
    score_key = tl.where(inside, score_key, -_LARGEST_KEY - 1)
    best = tl.max(score_key, axis=0)
    lane = tl.min(tl.where(score_key == best, lanes, block), axis=0)
    return lane, (best < _INFINITY_KEY) & (best > _MINUS_INFINITY_KEY)


@triton.jit
def _kth_largest(rank_key: tl.tensor, k: tl.tensor) -> tl.tensor:
    """A key that the k largest entries reach, and those equal to the k-th: two bits at a time from the top.

    The search is over when a candidate has exactly k above it, mostly after half of the bits; with entries equal to
    the k-th it ends at the k-th itself.
    """
    threshold = tl.full([], 0, tl.uint32)
    step = tl.full([], 1 << 30, tl.uint32)
    while step > 0:
        low, middle, high = threshold + step, threshold + 2 * step, threshold + 3 * step
        # Counts below 2^16: three of them in one sum.
        reached = (rank_key >= low).to(tl.int64) + ((rank_key >= middle).to(tl.int64) << 16)
        counts = tl.sum(reached + ((rank_key >= high).to(tl.int64) << 32), axis=0)
        num_low, num_middle, num_high = counts & 65535, (counts >> 16) & 65535, counts >> 32
        threshold = tl.where(num_low >= k, low, threshold)
        threshold = tl.where(num_middle >= k, middle, threshold)
        threshold = tl.where(num_high >= k, high, threshold)
        is_exact = (num_low == k) | (num_middle == k) | (num_high == k)
        step = tl.where(is_exact, tl.full([], 0, tl.uint32), step >> 2)
    return threshold


@triton.jit
def _nucleus_threshold(
    scaled: tl.tensor, rank_key: tl.tensor, kth: tl.tensor, top_k: tl.tensor, top_p: tl.tensor
) -> tl.tensor:
    """The smallest key that both filters keep, `kth` being top-k's threshold.

    Of several entries equal to the k-th, top-p counts as many as make k; the largest entry always stays.
    """
    largest = tl.max(tl.where(rank_key > 0, scaled, float("-inf")), axis=0)
    mass = tl.where((rank_key >= kth) & (rank_key > 0), tl.exp(scaled - largest), 0.0)
    above = tl.sum(tl.where(rank_key > kth, mass, 0.0), axis=0)
    num_above = tl.sum((rank_key > kth).to(tl.int32), axis=0)
    at_kth = tl.max(tl.where(rank_key == kth, mass, 0.0), axis=0)
    wanted = top_p * (above + (top_k - num_above).to(tl.float32) * at_kth)
    threshold = tl.full([], 0, tl.uint32)
    bit = tl.full([], 1 << 31, tl.uint32)
    for _ in range(32):
        candidate = threshold | bit
        reached = tl.sum(tl.where(rank_key >= candidate, mass, 0.0), axis=0)
        threshold = tl.where(reached >= wanted, candidate, threshold)
        bit = bit >> 1
    return tl.maximum(kth, threshold)


@triton.jit
def _sort_key(x: tl.tensor) -> tl.tensor:
    """int32 keys that order as the float32 numbers do; both zeros are one, and NaN is above everything."""
    bits = tl.where(x == 0.0, 0.0, x).to(tl.int32, bitcast=True)
    key = bits ^ ((bits >> 31) & _LARGEST_KEY)
    return tl.where(x != x, _LARGEST_KEY, key)


@triton.jit
def _ordered(key: tl.tensor) -> tl.tensor:
    """Signed keys as unsigned ones in the same order."""
    return key.to(tl.uint32, bitcast=True) ^ tl.full([], 1 << 31, tl.uint32)


# SplitMix64's constants as signed numbers: see sampling.py.
_GOLDEN = tl.constexpr(0x9E3779B97F4A7C15 - (1 << 64))
_MIX_1 = tl.constexpr(0xBF58476D1CE4E5B9 - (1 << 64))
_MIX_2 = tl.constexpr(0x94D049BB133111EB - (1 << 64))
_FRAME_STRIDE = tl.constexpr(0xD1342543DE82EF95 - (1 << 64))


@triton.jit
def gumbel_noise(seed: tl.tensor, frame: tl.tensor, codebook: tl.tensor, lanes: tl.tensor) -> tl.tensor:
    """seed: int64, frame: int32, both one number; lanes int32 (V,) -> float32 (V,)."""
    start = _mix(_mix(seed) + frame.to(tl.int64) * _FRAME_STRIDE)
    # A plain number has 32 bits, which the shift would leave.
    book = tl.zeros([], tl.int64) + codebook
    counter = lanes.to(tl.int64) + ((book << 32) + 1)
    bits = _mix(start + counter * _GOLDEN)
    uniform = (((bits >> 41) & 0x7FFFFF).to(tl.float32) + 0.5) * (2.0**-23)
    return -tl.log(-tl.log(uniform))


@triton.jit
def _mix(z: tl.tensor) -> tl.tensor:
    z = (z ^ ((z >> 30) & 0x3FFFFFFFF)) * _MIX_1
    z = (z ^ ((z >> 27) & 0x1FFFFFFFFF)) * _MIX_2
    return z ^ ((z >> 31) & 0x1FFFFFFFF)
