"""The operations of a frame in plain torch, on any device: slow, short, and what the kernels are compared with."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from worker.engine.cuda.float8 import Float8Rows, stored_as
from worker.engine.cuda.slot_state import FrameTables, SlotSampling, SlotState
from worker.engine.cuda.talker.decode.operations import Attend, TransformerStream, run_many_rows
from worker.engine.cuda.talker.decode.weights import Heads, RotaryFactors, TalkerTransformerWeights
from worker.engine.cuda.talker.prefill.prefill import frame_rows
from worker.engine.requests.request_state import RowEnd
from worker.engine.requests.sampling import MIN_FRAMES, NoiseTable, StepSampling, TopP, penalise_repetition, sample


class PlainOperations:
    """`Operations` in torch. Norms, rotations, softmax and sums are float32 inside, as in the kernels."""

    def __init__(self, num_codebooks: int, codebook_size: int, device: torch.device) -> None:
        self._noise = NoiseTable((codebook_size + 1, *[codebook_size] * (num_codebooks - 1)), device)

    def begin_rows(self, slots: Tensor, state: SlotState) -> tuple[Tensor, Tensor]:
        return state.next_input[slots], state.position[slots]

    def run_transformer(self, weights: TalkerTransformerWeights, inputs: Tensor, attend: Attend) -> TransformerStream:
        return run_many_rows(weights, inputs, attend, self)

    def norm_logits(self, stream: TransformerStream, weights: TalkerTransformerWeights, head: Tensor) -> Tensor:
        return self.logits(self.add_rms_norm(stream.update, stream.residual, weights.norm, weights.eps), head)

    def add_rms_norm(self, update: Tensor | None, residual: Tensor, weight: Tensor, eps: float) -> Tensor:
        if update is not None:
            residual += update
        return _rms_norm(residual, weight, eps)

    def linear(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.linear(x, weight)

    def logits(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.linear(x.float(), weight.float())

    def silu_multiply(self, gate_up: Tensor) -> Tensor:
        gate, up = gate_up.float().chunk(2, dim=1)
        return (F.silu(gate) * up).to(gate_up.dtype)

    def add_rms_norm_float8(self, update: Tensor | None, residual: Tensor, weight: Tensor, eps: float) -> Float8Rows:
        return Float8Rows.of(self.add_rms_norm(update, residual, weight, eps))

    def silu_multiply_float8(self, gate_up: Tensor) -> Float8Rows:
        return Float8Rows.of(self.silu_multiply(gate_up))

    def linear_float8(self, x: Float8Rows, weight: Float8Rows, dtype: torch.dtype) -> Tensor:
        return F.linear(x.exact(), weight.exact()).to(dtype)

    def rotate_and_store(
        self,
        qkv: Tensor,
        heads: Heads,
        rotary: RotaryFactors,
        slots: Tensor,
        positions: Tensor,
        keys: Tensor,
        values: Tensor,
    ) -> Tensor:
        queries, new_keys, new_values = _rotated(qkv, heads, rotary.cos[positions], rotary.sin[positions])
        keys[slots, :, positions] = stored_as(new_keys, keys.dtype)
        values[slots, :, positions] = stored_as(new_values, values.dtype)
        return queries.flatten(1)

    def decode_attention(
        self,
        qkv: Tensor,
        heads: Heads,
        rotary: RotaryFactors,
        slots: Tensor,
        positions: Tensor,
        keys: Tensor,
        values: Tensor,
    ) -> Tensor:
        queries = self.rotate_and_store(qkv, heads, rotary, slots, positions, keys, values)
        places = torch.arange(keys.shape[2], device=keys.device)
        visible = (places <= positions.unsqueeze(1)).view(-1, 1, 1, keys.shape[2])
        # What an earlier request left behind may not be finite, and zero times that is not zero.
        seen = values[slots].to(queries.dtype).masked_fill(~visible.transpose(2, 3), 0)
        return _attend(queries, keys[slots], seen, visible)

    def prompt_attention(
        self, queries: Tensor, keys: Tensor, values: Tensor, slots: Tensor, starts: Tensor, max_length: int
    ) -> Tensor:
        attended = torch.zeros_like(queries)
        bounds = starts.tolist()
        for slot, start, end in zip(slots.tolist(), bounds[:-1], bounds[1:], strict=True):
            length = end - start
            places = torch.arange(length, device=keys.device)
            visible = (places <= places.unsqueeze(1)).view(length, 1, 1, length)
            own_keys, own_values = keys[slot, :, :length], values[slot, :, :length]
            attended[start:end] = _attend(queries[start:end], own_keys.unsqueeze(0), own_values.unsqueeze(0), visible)
        return attended

    def attend_first_pair(
        self, qkv: Tensor, heads: Heads, rotary: RotaryFactors, keys: Tensor, values: Tensor
    ) -> Tensor:
        pair = enumerate(qkv.chunk(2))
        return torch.cat([self.attend_position(rows, heads, rotary, keys, values, place) for place, rows in pair])

    def attend_position(
        self, qkv: Tensor, heads: Heads, rotary: RotaryFactors, keys: Tensor, values: Tensor, position: int
    ) -> Tensor:
        cos, sin = rotary.cos[position : position + 1], rotary.sin[position : position + 1]
        queries, keys[:, :, position], values[:, :, position] = _rotated(qkv, heads, cos, sin)
        visible = torch.ones(1, 1, 1, position + 1, dtype=torch.bool, device=qkv.device)
        return _attend(queries.flatten(1), keys[:, :, : position + 1], values[:, :, : position + 1], visible)

    def gather_codes(self, codes: Tensor, codebook: int, table: Tensor) -> Tensor:
        return table[codes[:, codebook].clamp_max(table.shape[0] - 1)]

    def draw_first(self, logits: Tensor, slots: Tensor, state: SlotState, codes: Tensor, finite: Tensor) -> None:
        penalised = penalise_repetition(logits, state.present[slots] != 0, state.penalty[slots].unsqueeze(1))
        penalised[:, -1].masked_fill_(state.frame[slots] < MIN_FRAMES, -torch.inf)
        self._draw(penalised, 0, state.talker, slots, state, codes, finite)
        state.present[slots, codes[:, 0].clamp_max(logits.shape[1] - 2)] = 1

    def draw_residual(
        self, logits: Tensor, codebook: int, slots: Tensor, state: SlotState, codes: Tensor, finite: Tensor
    ) -> None:
        self._draw(logits, codebook, state.predictor, slots, state, codes, finite)

    def finish_frame(
        self, codes: Tensor, finite: Tensor, slots: Tensor, state: SlotState, tables: FrameTables
    ) -> Tensor:
        codebook_size, before = tables.first.shape[0], state.status[slots]
        frame = state.frame[slots]
        status = torch.where(frame >= state.max_frames[slots], int(RowEnd.LENGTH), int(RowEnd.RUNNING))
        status = status.masked_fill(codes[:, 0] == codebook_size, int(RowEnd.EOS))
        status = status.masked_fill(~(finite != 0).all(dim=1), int(RowEnd.NON_FINITE))
        status = torch.where(before != int(RowEnd.RUNNING), before, status.to(before.dtype))
        spoken = torch.cat((codes[:, :1].clamp_max(codebook_size - 1), codes[:, 1:]), dim=1)
        runs = status == int(RowEnd.RUNNING)
        following = torch.where(runs.unsqueeze(1), self._next_input(spoken, frame, slots, state, tables), 0)
        state.next_input[slots] = torch.where(runs.unsqueeze(1), following, state.next_input[slots])
        state.position[slots] += runs.to(torch.int32)
        state.frame[slots] = frame + runs.to(torch.int32)
        state.status[slots] = status
        return torch.cat((spoken, status.unsqueeze(1)), dim=1).to(torch.int16)

    def _next_input(self, codes: Tensor, frame: Tensor, slots: Tensor, state: SlotState, tables: FrameTables) -> Tensor:
        text = tables.text[state.trailing_ids[slots, torch.minimum(frame, state.trailing_length[slots])]]
        return (frame_rows(codes, tables) + text.float()).to(text.dtype)

    def _draw(
        self,
        logits: Tensor,
        codebook: int,
        sampling: SlotSampling,
        slots: Tensor,
        state: SlotState,
        codes: Tensor,
        finite: Tensor,
    ) -> None:
        noise = self._noise.at(state.seed[slots], state.frame[slots].long())[codebook]
        rows = StepSampling(
            sampling.inverse_temperature[slots].unsqueeze(1),
            sampling.noise_scale[slots].unsqueeze(1),
            sampling.top_k[slots].long().unsqueeze(1),
            sampling.top_p[slots].unsqueeze(1),
        )
        lanes, scores = sample(logits, noise, rows, TopP())
        codes[:, codebook] = lanes.to(torch.int32)
        finite[:, codebook] = scores.isfinite().to(torch.int8)


def _rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return F.rms_norm(x.float(), weight.shape, weight.float(), eps).to(x.dtype)


def _rotated(qkv: Tensor, heads: Heads, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """qkv (N, (H + 2 KV) · d), cos and sin (N or 1, d / 2) -> queries (N, H, d), keys and values (N, KV, d)."""
    split = (heads.num_heads, heads.num_kv_heads, heads.num_kv_heads)
    queries, keys, values = qkv.view(qkv.shape[0], -1, heads.head_dim).split(split, dim=1)
    queries = _rotate(_rms_norm(queries.float(), heads.query_norm, heads.eps), cos, sin)
    keys = _rotate(_rms_norm(keys.float(), heads.key_norm, heads.eps), cos, sin)
    return queries.to(qkv.dtype), keys.to(qkv.dtype), values


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def _attend(queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor) -> Tensor:
    """queries (N, H · d), keys and values (N or 1, KV, T, d), visible bool broadcastable to (N, KV, 1, T)."""
    num_rows, num_kv_heads, head_dim = queries.shape[0], keys.shape[1], keys.shape[3]
    grouped = queries.view(num_rows, num_kv_heads, -1, head_dim).float()
    scores = grouped @ keys.float().transpose(2, 3) * head_dim**-0.5
    weights = scores.masked_fill(~visible, -torch.inf).softmax(dim=-1)
    return (weights @ values.float()).reshape(num_rows, -1).to(queries.dtype)
