"""Every kernel of the CUDA talker on its own: its error against float32 torch, and its time against the bytes it moves.

    python benchmarks/engine/kernels.py --size 0.6B --rows 1,8,64,256 --json kernels.json

Inputs are random bf16. An error is the norm of the difference over the norm of the float32 result. A time is the
median replay of a CUDA graph of many launches over different weights and histories, so that none is read from the
cache, divided by their number. The floor is the bytes that must be moved over what a copy reaches on an H200.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from worker.engine.cuda.kernels.code_embedding import gather_codes
from worker.engine.cuda.kernels.decode_attention import decode_attention
from worker.engine.cuda.kernels.few_row_products import MAX_ROWS, linear_add, norm_gate_up, norm_linear
from worker.engine.cuda.kernels.frame_end import finish_frame
from worker.engine.cuda.kernels.predictor_attention import attend_first_pair, attend_position
from worker.engine.cuda.kernels.prompt_attention import prompt_attention
from worker.engine.cuda.kernels.rms_norm import add_rms_norm
from worker.engine.cuda.kernels.rotary_heads import rotate_and_store
from worker.engine.cuda.kernels.sampler import draw_first, draw_residual
from worker.engine.cuda.kernels.skinny_products import MAX_TOKENS, skinny_gate_up, skinny_linear, skinny_parts
from worker.engine.cuda.kernels.swiglu import silu_multiply
from worker.engine.cuda.slot_state import FrameTables, SlotState
from worker.engine.requests.request_state import RowEnd

H200_BYTES_PER_S = 4.3e12
HEADS, KV_HEADS, HEAD_DIM, CODEBOOKS, CODEBOOK_SIZE, EPS = 16, 8, 128, 16, 2048, 1e-6
QKV_WIDTH = (HEADS + 2 * KV_HEADS) * HEAD_DIM
WIDTHS = {"0.6B": (1024, 3072), "1.7B": (2048, 6144)}
HISTORY = 200
COPIES = 28


@dataclass(frozen=True)
class Case:
    """run(i) launches once on the i-th copy of the data; error() compares with float32 torch."""

    name: str
    rows: int
    num_bytes: int
    run: Callable[[int], object]
    error: Callable[[], float] | None = None


@dataclass(frozen=True)
class Measurement:
    name: str
    rows: int
    microseconds: float
    floor_microseconds: float
    relative_error: float | None


class Data:
    def __init__(self, size: str, rows: int) -> None:
        self.rows = rows
        self.hidden, self.intermediate = WIDTHS[size]
        self._random = torch.Generator("cuda").manual_seed(rows)

    def normal(self, *shape: int, scale: float = 1.0) -> Tensor:
        return (torch.randn(*shape, generator=self._random, device="cuda") * scale).bfloat16()

    def weights(self, outputs: int, inputs: int) -> Tensor:
        return torch.stack([self.normal(outputs, inputs, scale=inputs**-0.5) for _ in range(COPIES)])


def relative_error(found: Tensor, expected: Tensor) -> float:
    return float((found.float() - expected).norm() / expected.norm())


def row_cases(data: Data) -> Iterator[Case]:
    rows, hidden = data.rows, data.hidden
    update, residual, norm = data.normal(rows, hidden), data.normal(rows, hidden), data.normal(hidden)
    gate_up = data.normal(rows, 2 * data.intermediate)

    def norm_error() -> float:
        total = update.float() + residual.float()
        return relative_error(
            add_rms_norm(update, residual.clone(), norm, EPS), F.rms_norm(total, (hidden,), norm.float(), EPS)
        )

    def silu_error() -> float:
        gate, up = gate_up.float().chunk(2, dim=1)
        return relative_error(silu_multiply(gate_up), F.silu(gate) * up)

    # The residual grows with every launch: the time does not depend on its values.
    yield Case("add_rms_norm", rows, 8 * rows * hidden, lambda _: add_rms_norm(update, residual, norm, EPS), norm_error)
    yield Case("silu_multiply", rows, 6 * rows * data.intermediate, lambda _: silu_multiply(gate_up), silu_error)


def few_row_cases(data: Data) -> Iterator[Case]:
    rows, hidden, wide = data.rows, data.hidden, data.intermediate
    residual, norm = data.normal(rows, hidden), data.normal(hidden)
    qkv, gate_up = data.weights(QKV_WIDTH, hidden), data.weights(2 * wide, hidden)
    output, down = data.weights(hidden, HEADS * HEAD_DIM), data.weights(hidden, wide)
    attended, gated = data.normal(rows, HEADS * HEAD_DIM), data.normal(rows, wide)
    head = data.weights(CODEBOOK_SIZE, hidden)

    def normed() -> Tensor:
        return F.rms_norm(residual.float(), (hidden,), norm.float(), EPS)

    def gate_error() -> float:
        gate, up = (normed() @ gate_up[0].float().T).chunk(2, dim=1)
        return relative_error(norm_gate_up(residual, norm, EPS, gate_up[0]), F.silu(gate) * up)

    def add_error(x: Tensor, weight: Tensor) -> float:
        found = residual.clone()
        linear_add(x, weight, found)
        return relative_error(found, residual.float() + x.float() @ weight.float().T)

    def layer(i: int) -> None:
        norm_linear(residual, norm, EPS, qkv[i], torch.bfloat16)
        linear_add(attended, output[i], residual)
        norm_gate_up(residual, norm, EPS, gate_up[i])
        linear_add(gated, down[i], residual)

    yield Case(
        "norm_linear qkv",
        rows,
        qkv[0].nbytes,
        lambda i: norm_linear(residual, norm, EPS, qkv[i], torch.bfloat16),
        lambda: relative_error(norm_linear(residual, norm, EPS, qkv[0], torch.bfloat16), normed() @ qkv[0].float().T),
    )
    yield Case(
        "norm_linear head",
        rows,
        head[0].nbytes,
        lambda i: norm_linear(residual, norm, EPS, head[i], torch.float32),
        lambda: relative_error(norm_linear(residual, norm, EPS, head[0], torch.float32), normed() @ head[0].float().T),
    )
    yield Case(
        "linear_add output",
        rows,
        output[0].nbytes,
        lambda i: linear_add(attended, output[i], residual),
        lambda: add_error(attended, output[0]),
    )
    yield Case(
        "norm_gate_up",
        rows,
        gate_up[0].nbytes,
        lambda i: norm_gate_up(residual, norm, EPS, gate_up[i]),
        gate_error,
    )
    yield Case(
        "linear_add down",
        rows,
        down[0].nbytes,
        lambda i: linear_add(gated, down[i], residual),
        lambda: add_error(gated, down[0]),
    )
    layer_bytes = sum(weight[0].nbytes for weight in (qkv, output, gate_up, down))
    yield Case("layer of the four, no attention", rows, layer_bytes, layer)
    yield Case("cuBLAS: qkv alone", rows, qkv[0].nbytes, lambda i: F.linear(residual, qkv[i]))


def skinny_cases(data: Data) -> Iterator[Case]:
    rows, hidden, wide = data.rows, data.hidden, data.intermediate
    x, gated, attended = data.normal(rows, hidden), data.normal(rows, wide), data.normal(rows, HEADS * HEAD_DIM)
    residual, norm = data.normal(rows, hidden), data.normal(hidden)
    qkv, gate_up = data.weights(QKV_WIDTH, hidden), data.weights(2 * wide, hidden)
    output, down = data.weights(hidden, HEADS * HEAD_DIM), data.weights(hidden, wide)

    def layer(i: int) -> None:
        add_rms_norm(None, residual, norm, EPS)
        skinny_linear(x, qkv[i], torch.bfloat16)
        add_rms_norm(skinny_parts(attended, output[i]), residual, norm, EPS)
        skinny_gate_up(x, gate_up[i])
        skinny_parts(gated, down[i])

    def library_layer(i: int) -> None:
        add_rms_norm(None, residual, norm, EPS)
        F.linear(x, qkv[i])
        add_rms_norm(F.linear(attended, output[i]), residual, norm, EPS)
        silu_multiply(F.linear(x, gate_up[i]))
        F.linear(gated, down[i])

    def gate_error() -> float:
        gate, up = (x.float() @ gate_up[0].float().T).chunk(2, dim=1)
        return relative_error(skinny_gate_up(x, gate_up[0]), F.silu(gate) * up)

    yield Case(
        "skinny qkv",
        rows,
        qkv[0].nbytes,
        lambda i: skinny_linear(x, qkv[i], torch.bfloat16),
        lambda: relative_error(skinny_linear(x, qkv[0], torch.bfloat16), x.float() @ qkv[0].float().T),
    )
    yield Case("skinny gate up", rows, gate_up[0].nbytes, lambda i: skinny_gate_up(x, gate_up[i]), gate_error)
    yield Case(
        "skinny down, parts",
        rows,
        down[0].nbytes,
        lambda i: skinny_parts(gated, down[i]),
        lambda: relative_error(skinny_parts(gated, down[0]).sum(0), gated.float() @ down[0].float().T),
    )
    yield Case("skinny output, parts", rows, output[0].nbytes, lambda i: skinny_parts(attended, output[i]))
    layer_bytes = sum(weight[0].nbytes for weight in (qkv, output, gate_up, down))
    yield Case("skinny layer, no attention", rows, layer_bytes, layer)
    yield Case("cuBLAS layer, no attention", rows, layer_bytes, library_layer)


def attention_cases(data: Data) -> Iterator[Case]:
    rows = data.rows
    capacity = 2 * HISTORY
    positions = torch.arange(rows, device="cuda", dtype=torch.int32) % 64 + HISTORY - 32
    slots = torch.arange(rows, device="cuda", dtype=torch.int32).flip(0).contiguous()
    copies = max(1, min(COPIES, 4096 // rows))
    keys = data.normal(copies, rows, KV_HEADS, capacity, HEAD_DIM)
    values = data.normal(copies, rows, KV_HEADS, capacity, HEAD_DIM)
    queries, qkv = data.normal(rows, HEADS * HEAD_DIM), data.normal(rows, QKV_WIDTH)
    weights = (data.normal(HEAD_DIM), data.normal(HEAD_DIM))
    angles = torch.outer(torch.arange(capacity, device="cuda"), 1e6 ** (-torch.arange(64, device="cuda") / 64))
    factors = (*weights, EPS, angles.cos(), angles.sin())
    arrivals = torch.zeros(rows * KV_HEADS, dtype=torch.int32, device="cuda")

    def expected() -> Tensor:
        mask = torch.arange(capacity, device="cuda") <= positions.unsqueeze(1)
        return F.scaled_dot_product_attention(
            queries.float().view(rows, HEADS, 1, HEAD_DIM),
            keys[0, slots].float().repeat_interleave(HEADS // KV_HEADS, 1),
            values[0, slots].float().repeat_interleave(HEADS // KV_HEADS, 1),
            attn_mask=mask.view(rows, 1, 1, capacity),
        ).flatten(1)

    history_bytes = int(positions.sum() + rows) * KV_HEADS * HEAD_DIM * 4
    for num_splits in (1, 2, 4, 8, 16):
        yield Case(
            f"decode_attention, {num_splits} splits",
            rows,
            history_bytes,
            lambda i, n=num_splits: decode_attention(
                queries, keys[i % copies], values[i % copies], slots, positions, n, arrivals
            ),
            lambda n=num_splits: relative_error(
                decode_attention(queries, keys[0], values[0], slots, positions, n, arrivals), expected()
            ),
        )
    yield Case(
        "rotate_and_store",
        rows,
        4 * rows * QKV_WIDTH,
        lambda i: rotate_and_store(qkv, *factors, slots, positions, keys[i % copies], values[i % copies]),
    )
    frame = data.normal(2, COPIES, rows, KV_HEADS, CODEBOOKS, HEAD_DIM)
    pair = data.normal(2 * rows, QKV_WIDTH)
    frame_bytes = rows * (2 * QKV_WIDTH + 10 * KV_HEADS * HEAD_DIM * 4)
    yield Case(
        "attend_position 9", rows, frame_bytes, lambda i: attend_position(qkv, *factors, frame[0, i], frame[1, i], 9)
    )
    yield Case(
        "attend_first_pair",
        rows,
        8 * rows * QKV_WIDTH,
        lambda i: attend_first_pair(pair, *factors, frame[0, i], frame[1, i]),
    )
    if rows <= 64:
        length = 150
        tokens = data.normal(rows * length, HEADS * HEAD_DIM)
        starts = torch.arange(rows + 1, device="cuda", dtype=torch.int32) * length
        yield Case(
            "prompt_attention, 150 tokens each",
            rows,
            rows * length * (2 * HEADS + 2 * KV_HEADS) * HEAD_DIM * 2,
            lambda i: prompt_attention(tokens, keys[i % copies], values[i % copies], slots, starts, 256),
        )


def frame_cases(data: Data) -> Iterator[Case]:
    rows, hidden = data.rows, data.hidden
    state = SlotState.allocate(rows, 2048, CODEBOOK_SIZE, hidden, torch.bfloat16, torch.device("cuda"))
    state.status[:rows] = int(RowEnd.RUNNING)
    state.max_frames[:] = 1 << 20
    state.trailing_length.zero_()
    for sampling in (state.talker, state.predictor):
        sampling.inverse_temperature.fill_(1 / 0.9)
        sampling.noise_scale.fill_(1.0)
        sampling.top_k.fill_(50)
    slots = torch.arange(rows, device="cuda", dtype=torch.int32)
    codes = torch.zeros(rows, CODEBOOKS, dtype=torch.int32, device="cuda")
    finite = torch.ones(rows, CODEBOOKS, dtype=torch.int8, device="cuda")
    logits, first = 3 * data.normal(rows, CODEBOOK_SIZE).float(), 3 * data.normal(rows, CODEBOOK_SIZE + 64).float()
    tables = FrameTables(
        data.normal(CODEBOOK_SIZE, hidden), data.normal(CODEBOOKS - 1, CODEBOOK_SIZE, hidden), data.normal(64, hidden)
    )
    yield Case(
        "draw_first",
        rows,
        rows * 5 * CODEBOOK_SIZE,
        lambda _: draw_first(first[:, : CODEBOOK_SIZE + 1], slots, state, 2, codes, finite),
    )
    yield Case(
        "draw_residual",
        rows,
        rows * 4 * CODEBOOK_SIZE,
        lambda i: draw_residual(logits, i % 15 + 1, slots, state, codes, finite),
    )
    yield Case("gather_codes", rows, 4 * rows * hidden, lambda _: gather_codes(codes, 1, tables.first))
    yield Case(
        "finish_frame",
        rows,
        rows * (CODEBOOKS + 2) * 2 * hidden,
        lambda _: finish_frame(codes, finite, slots, state, tables),
    )


def measure(case: Case) -> Measurement:
    error = case.error() if case.error else None
    case.run(0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(COPIES):
            case.run(i)
    times: list[float] = []
    for _ in range(12):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    microseconds = statistics.median(times[2:]) * 1e3 / COPIES
    return Measurement(case.name, case.rows, microseconds, case.num_bytes / H200_BYTES_PER_S * 1e6, error)


@torch.inference_mode()
def measurements(size: str, rows: Sequence[int]) -> Iterator[Measurement]:
    for count in rows:
        data = Data(size, count)
        makers = [row_cases, attention_cases, frame_cases]
        if count <= MAX_TOKENS:
            makers.insert(0, skinny_cases)
        if count <= MAX_ROWS:
            makers.insert(0, few_row_cases)
        for make in makers:
            for case in make(data):
                yield measure(case)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", default="0.6B", choices=list(WIDTHS))
    parser.add_argument("--rows", default="1,8,64,256")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results: list[Measurement] = []
    for found in measurements(arguments.size, [int(count) for count in arguments.rows.split(",")]):
        results.append(found)
        error = "" if found.relative_error is None else f"{found.relative_error:.1e}"
        print(
            f"{found.name:36} {found.rows:4d} rows {found.microseconds:8.2f} us"
            f"  floor {found.floor_microseconds:7.2f} us  error {error}",
            flush=True,
        )
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(found) for found in results], indent=1))


if __name__ == "__main__":
    main()
