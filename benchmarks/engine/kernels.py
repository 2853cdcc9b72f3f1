"""Every kernel of the CUDA talker on its own: its time against the bytes that it moves.

    python benchmarks/engine/kernels.py --size 0.6B --rows 1,8,64,256 --json kernels.json

Inputs are random bf16. A time is the median replay of a CUDA graph of many launches over different weights and
histories, so that none is read from the cache, divided by their number. The floor is the bytes that must be moved over
what a copy reaches on an H200. Errors against float32 are looked at by `tests/gpu` and in Triton's interpreter.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.rig import numbers, parser
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
HISTORY, PROMPT = 200, 150
COPIES = 28


@dataclass(frozen=True)
class Case:
    """run(i) launches once on the i-th copy of the data. num_bytes: that it has to move."""

    name: str
    num_bytes: int
    run: Callable[[int], object]


class Data:
    def __init__(self, size: str, rows: int) -> None:
        self.rows = rows
        self.hidden, self.intermediate = WIDTHS[size]
        self._random = torch.Generator("cuda").manual_seed(rows)

    def normal(self, *shape: int, scale: float = 1.0) -> Tensor:
        return (torch.randn(*shape, generator=self._random, device="cuda") * scale).bfloat16()

    def weights(self, outputs: int, inputs: int) -> Tensor:
        return torch.stack([self.normal(outputs, inputs, scale=inputs**-0.5) for _ in range(COPIES)])


def row_cases(data: Data) -> Iterator[Case]:
    rows, hidden = data.rows, data.hidden
    update, residual, norm = data.normal(rows, hidden), data.normal(rows, hidden), data.normal(hidden)
    gate_up = data.normal(rows, 2 * data.intermediate)
    # The residual grows with every launch: the time does not depend on its values.
    yield Case("add_rms_norm", 8 * rows * hidden, lambda _: add_rms_norm(update, residual, norm, EPS))
    yield Case("silu_multiply", 6 * rows * data.intermediate, lambda _: silu_multiply(gate_up))


def layer_cases(data: Data) -> Iterator[Case]:
    """The products of a layer, by the kernels that take so many rows, and by cuBLAS."""
    rows, hidden, wide = data.rows, data.hidden, data.intermediate
    x, gated, attended = data.normal(rows, hidden), data.normal(rows, wide), data.normal(rows, HEADS * HEAD_DIM)
    residual, norm = data.normal(rows, hidden), data.normal(hidden)
    qkv, gate_up = data.weights(QKV_WIDTH, hidden), data.weights(2 * wide, hidden)
    output, down = data.weights(hidden, HEADS * HEAD_DIM), data.weights(hidden, wide)
    head = data.weights(CODEBOOK_SIZE, hidden)
    layer_bytes = sum(weight[0].nbytes for weight in (qkv, output, gate_up, down))

    def few_rows(i: int) -> None:
        norm_linear(residual, norm, EPS, qkv[i], torch.bfloat16)
        linear_add(attended, output[i], residual)
        norm_gate_up(residual, norm, EPS, gate_up[i])
        linear_add(gated, down[i], residual)

    def skinny(i: int) -> None:
        add_rms_norm(None, residual, norm, EPS)
        skinny_linear(x, qkv[i], torch.bfloat16)
        add_rms_norm(skinny_parts(attended, output[i]), residual, norm, EPS)
        skinny_gate_up(x, gate_up[i])
        skinny_parts(gated, down[i])

    def library(i: int) -> None:
        add_rms_norm(None, residual, norm, EPS)
        F.linear(x, qkv[i])
        add_rms_norm(F.linear(attended, output[i]), residual, norm, EPS)
        silu_multiply(F.linear(x, gate_up[i]))
        F.linear(gated, down[i])

    if rows <= MAX_ROWS:
        yield Case("norm_linear qkv", qkv[0].nbytes, lambda i: norm_linear(residual, norm, EPS, qkv[i], torch.bfloat16))
        yield Case("norm_linear head", head[0].nbytes, lambda i: norm_linear(x, norm, EPS, head[i], torch.float32))
        yield Case("linear_add output", output[0].nbytes, lambda i: linear_add(attended, output[i], residual))
        yield Case("norm_gate_up", gate_up[0].nbytes, lambda i: norm_gate_up(residual, norm, EPS, gate_up[i]))
        yield Case("linear_add down", down[0].nbytes, lambda i: linear_add(gated, down[i], residual))
        yield Case("layer of few rows, no attention", layer_bytes, few_rows)
    if rows <= MAX_TOKENS:
        yield Case("skinny qkv", qkv[0].nbytes, lambda i: skinny_linear(x, qkv[i], torch.bfloat16))
        yield Case("skinny gate up", gate_up[0].nbytes, lambda i: skinny_gate_up(x, gate_up[i]))
        yield Case("skinny down, parts", down[0].nbytes, lambda i: skinny_parts(gated, down[i]))
        yield Case("skinny output, parts", output[0].nbytes, lambda i: skinny_parts(attended, output[i]))
        yield Case("skinny layer, no attention", layer_bytes, skinny)
    yield Case("cuBLAS layer, no attention", layer_bytes, library)


def attention_cases(data: Data) -> Iterator[Case]:
    rows, capacity, kv_bytes = data.rows, 2 * HISTORY, KV_HEADS * HEAD_DIM * 4
    positions = torch.arange(rows, device="cuda", dtype=torch.int32) % 64 + HISTORY - 32
    slots = torch.arange(rows, device="cuda", dtype=torch.int32).flip(0).contiguous()
    copies = max(1, min(COPIES, 4096 // rows))
    keys, values = (data.normal(copies, rows, KV_HEADS, capacity, HEAD_DIM) for _ in range(2))
    queries, qkv = data.normal(rows, HEADS * HEAD_DIM), data.normal(rows, QKV_WIDTH)
    angles = torch.outer(torch.arange(capacity, device="cuda"), 1e6 ** (-torch.arange(64, device="cuda") / 64))
    factors = (data.normal(HEAD_DIM), data.normal(HEAD_DIM), EPS, angles.cos(), angles.sin())
    arrivals = torch.zeros(rows * KV_HEADS, dtype=torch.int32, device="cuda")
    frame, pair = data.normal(2, COPIES, rows, KV_HEADS, CODEBOOKS, HEAD_DIM), data.normal(2 * rows, QKV_WIDTH)

    def decode(splits: int) -> Callable[[int], object]:
        return lambda i: decode_attention(
            queries, keys[i % copies], values[i % copies], slots, positions, splits, arrivals
        )

    def store(i: int) -> None:
        rotate_and_store(qkv, *factors, slots, positions, keys[i % copies], values[i % copies])

    for splits in (1, 2, 4, 8, 16):
        yield Case(f"decode_attention, {splits} splits", int(positions.sum() + rows) * kv_bytes, decode(splits))
    yield Case("rotate_and_store", 4 * rows * QKV_WIDTH, store)
    frame_bytes = rows * (2 * QKV_WIDTH + 10 * kv_bytes)
    yield Case("attend_position 9", frame_bytes, lambda i: attend_position(qkv, *factors, frame[0, i], frame[1, i], 9))
    pair_bytes = 8 * rows * QKV_WIDTH
    yield Case("attend_first_pair", pair_bytes, lambda i: attend_first_pair(pair, *factors, frame[0, i], frame[1, i]))
    if rows <= 64:
        tokens = data.normal(rows * PROMPT, HEADS * HEAD_DIM)
        starts = torch.arange(rows + 1, device="cuda", dtype=torch.int32) * PROMPT
        yield Case(
            f"prompt_attention, {PROMPT} tokens each",
            rows * PROMPT * (2 * HEADS + 2 * KV_HEADS) * HEAD_DIM * 2,
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
    logits, first = (3 * data.normal(rows, CODEBOOK_SIZE + extra).float() for extra in (0, 64))
    residual = data.normal(CODEBOOKS - 1, CODEBOOK_SIZE, hidden)
    tables = FrameTables(data.normal(CODEBOOK_SIZE, hidden), residual, data.normal(64, hidden))

    def draw(i: int) -> None:
        draw_residual(logits, i % 15 + 1, slots, state, codes, finite)

    first = first[:, : CODEBOOK_SIZE + 1]
    yield Case("draw_first", rows * 5 * CODEBOOK_SIZE, lambda _: draw_first(first, slots, state, 2, codes, finite))
    yield Case("draw_residual", rows * 4 * CODEBOOK_SIZE, draw)
    yield Case("gather_codes", 4 * rows * hidden, lambda _: gather_codes(codes, 1, tables.first))
    frame_bytes = rows * (CODEBOOKS + 2) * 2 * hidden
    yield Case("finish_frame", frame_bytes, lambda _: finish_frame(codes, finite, slots, state, tables))


def microseconds(case: Case) -> float:
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
    return statistics.median(times[2:]) * 1e3 / COPIES


@torch.inference_mode()
def main() -> None:
    options = parser(__doc__)
    options.add_argument("--size", default="0.6B", choices=list(WIDTHS))
    options.add_argument("--rows", type=numbers, default=[1, 8, 64, 256])
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    found: list[dict[str, object]] = []
    for rows in given.rows:
        data = Data(given.size, rows)
        for make in (layer_cases, row_cases, attention_cases, frame_cases):
            for case in make(data):
                took_us, floor_us = microseconds(case), case.num_bytes / H200_BYTES_PER_S * 1e6
                print(f"{case.name:36} {rows:4d} rows {took_us:8.2f} us  floor {floor_us:7.2f} us", flush=True)
                found.append({"name": case.name, "rows": rows, "microseconds": took_us, "floor": floor_us})
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
