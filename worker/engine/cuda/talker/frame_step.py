"""One frame of every row, from the slots' inputs to the slots' next inputs, without a look at the host.

Talker step, draw of codebook 0, the code predictor's passes with their draws, sum of the embeddings with the text.
Shapes depend on the number of rows alone, and all changing values are read from device memory. So the whole step is one
CUDA graph per number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from worker.engine.cuda.slot_state import FrameTables, SlotState
from worker.engine.cuda.talker.decode.operations import Operations, TransformerStream
from worker.engine.cuda.talker.decode.weights import TalkerTransformerWeights


@dataclass(frozen=True, slots=True)
class TalkerWeights:
    """head: (L, hidden), L > V: one lane per entry of codebook 0, the end of speech, and rows of zeros up to L."""

    transformer: TalkerTransformerWeights
    head: Tensor


@dataclass(frozen=True, slots=True)
class PredictorWeights:
    """inputs: of codebooks 0 to Q - 2, projected once, (Q - 1, V, width); heads: of 1 to Q - 1, (Q - 1, V, width).

    projection: from the talker's hidden state, as (width, hidden) and (width,); None where both are equally wide.
    """

    transformer: TalkerTransformerWeights
    inputs: Tensor
    heads: Tensor
    projection: tuple[Tensor, Tensor] | None


@dataclass(frozen=True, slots=True)
class KvMemory:
    """Keys and values of all layers: (layers, S or B, KV, positions, d)."""

    keys: Tensor
    values: Tensor

    @classmethod
    def allocate(
        cls,
        weights: TalkerTransformerWeights,
        num_rows: int,
        num_positions: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> KvMemory:
        heads = weights.layers[0].heads
        shape = (len(weights.layers), num_rows, heads.num_kv_heads, num_positions, heads.head_dim)
        return cls(torch.zeros(shape, dtype=dtype, device=device), torch.zeros(shape, dtype=dtype, device=device))

    def first(self, num_rows: int) -> KvMemory:
        """A view of the first rows, all layers."""
        return KvMemory(self.keys[:, :num_rows], self.values[:, :num_rows])


class FrameStep:
    """Single-threaded. Owns nothing but the predictor's keys and values, which die with the frame."""

    def __init__(
        self,
        talker: TalkerWeights,
        predictor: PredictorWeights,
        tables: FrameTables,
        state: SlotState,
        memory: KvMemory,
        max_rows: int,
    ) -> None:
        """memory: the talker's, by slot."""
        self._talker = talker
        self._predictor = predictor
        self._tables = tables
        self._state = state
        self._memory = memory
        self._num_codebooks = predictor.heads.shape[0] + 1
        self._num_lanes = tables.first.shape[0] + 1
        self._frame_memory = KvMemory.allocate(
            predictor.transformer, max_rows, self._num_codebooks, state.next_input.dtype, memory.keys.device
        )

    @property
    def device(self) -> torch.device:
        return self._memory.keys.device

    @property
    def packet_width(self) -> int:
        """Q + 1."""
        return self._num_codebooks + 1

    def run(self, slots: Tensor, operations: Operations) -> Tensor:
        """slots: int32 (B,) -> int16 (B, Q + 1): the frame's codes, then the row's status."""
        return self.speak(self._talk(slots, operations), slots, operations)

    def speak(self, hidden: Tensor, slots: Tensor, operations: Operations) -> Tensor:
        """As `run`, behind the talker: hidden (B, hidden), after its last norm."""
        num_rows = slots.shape[0]
        memory = self._frame_memory.first(num_rows)
        codes = torch.empty(num_rows, self._num_codebooks, dtype=torch.int32, device=slots.device)
        finite = torch.empty(num_rows, self._num_codebooks, dtype=torch.int8, device=slots.device)
        logits = operations.logits(hidden, self._talker.head)[:, : self._num_lanes]
        operations.draw_first(logits, slots, self._state, codes, finite)
        self._complete(hidden, slots, codes, finite, memory, operations)
        return operations.finish_frame(codes, finite, slots, self._state, self._tables)

    def _talk(self, slots: Tensor, operations: Operations) -> Tensor:
        inputs, positions = operations.begin_rows(slots, self._state)
        weights, memory = self._talker.transformer, self._memory

        def attend(layer: int, qkv: Tensor) -> Tensor:
            heads, keys, values = weights.layers[layer].heads, memory.keys[layer], memory.values[layer]
            return operations.decode_attention(qkv, heads, weights.rotary, slots, positions, keys, values)

        stream = operations.run_transformer(weights, inputs, attend)
        return operations.add_rms_norm(stream.update, stream.residual, weights.norm, weights.eps)

    def _complete(
        self, hidden: Tensor, slots: Tensor, codes: Tensor, finite: Tensor, memory: KvMemory, operations: Operations
    ) -> None:
        """Codebooks 1 to Q - 1. The first pass takes two positions: the hidden state and codebook 0."""
        predictor = self._predictor
        first = operations.gather_codes(codes, 0, predictor.inputs[0])
        passed = self._pass_first_pair(self._projected(hidden, operations), first, memory, operations)
        for codebook in range(1, self._num_codebooks):
            if codebook > 1:
                inputs = operations.gather_codes(codes, codebook - 1, predictor.inputs[codebook - 1])
                passed = self._pass_position(inputs, codebook, memory, operations)
            logits = operations.norm_logits(passed, predictor.transformer, predictor.heads[codebook - 1])
            operations.draw_residual(logits, codebook, slots, self._state, codes, finite)

    def _pass_first_pair(
        self, hidden: Tensor, first: Tensor, memory: KvMemory, operations: Operations
    ) -> TransformerStream:
        """What comes out at the second position."""
        weights = self._predictor.transformer

        def attend(layer: int, qkv: Tensor) -> Tensor:
            keys, values = memory.keys[layer], memory.values[layer]
            return operations.attend_first_pair(qkv, weights.layers[layer].heads, weights.rotary, keys, values)

        return operations.run_transformer(weights, torch.cat((hidden, first)), attend).rows_from(hidden.shape[0])

    def _pass_position(
        self, inputs: Tensor, position: int, memory: KvMemory, operations: Operations
    ) -> TransformerStream:
        weights = self._predictor.transformer

        def attend(layer: int, qkv: Tensor) -> Tensor:
            heads, keys, values = weights.layers[layer].heads, memory.keys[layer], memory.values[layer]
            return operations.attend_position(qkv, heads, weights.rotary, keys, values, position)

        return operations.run_transformer(weights, inputs, attend)

    def _projected(self, hidden: Tensor, operations: Operations) -> Tensor:
        if self._predictor.projection is None:
            return hidden
        weight, bias = self._predictor.projection
        return operations.linear(hidden, weight) + bias
