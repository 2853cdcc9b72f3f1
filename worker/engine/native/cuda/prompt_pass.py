"""Admission: many prompts through the talker in one pass, and their slots' first state."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from worker.engine.native.cuda.decoder_weights import DecoderWeights
from worker.engine.native.cuda.frame_step import KvMemory
from worker.engine.native.cuda.operations import Operations
from worker.engine.native.cuda.plain_operations import frame_rows
from worker.engine.native.cuda.prompt_pack import PackedPrompts, PackedSlots
from worker.engine.native.cuda.slot_state import FrameTables, SlotState


class PromptPass:
    """Single-threaded. Nothing here waits for the device."""

    def __init__(
        self, weights: DecoderWeights, codec_table: Tensor, tables: FrameTables, state: SlotState, memory: KvMemory
    ) -> None:
        """codec_table: embeddings of the whole codec vocabulary, control ids included, (vocabulary, hidden)."""
        self._weights = weights
        self._codec_table = codec_table
        self._tables = tables
        self._state = state
        self._memory = memory
        self._device = codec_table.device

    def run(self, prompts: PackedPrompts, operations: Operations) -> None:
        """Fills the slots' keys, values and next inputs."""
        rows, num_tokens = self._rows(prompts), prompts.num_tokens
        self._state.next_input[self._there(prompts.slots).long()] = rows[num_tokens:]
        if prompts.max_length:
            self._fill(rows[:num_tokens], prompts, operations)

    def set_slots(self, packed: PackedSlots) -> None:
        """From here on the slots run."""
        state, slots = self._state, self._there(packed.slots).long()
        integers, floats = self._there(packed.integers), self._there(packed.floats)
        targets = (
            state.position, state.max_frames, state.seed, state.trailing_length, state.talker.top_k,
            state.predictor.top_k, state.frame, state.status,
        )  # fmt: skip
        for target, values in zip(targets, integers, strict=True):
            target[slots] = values.to(target.dtype)
        float_targets = [state.penalty]
        for sampling in (state.talker, state.predictor):
            float_targets += (sampling.inverse_temperature, sampling.noise_scale, sampling.top_p)
        for target, values in zip(float_targets, floats, strict=True):
            target[slots] = values
        state.present[slots] = 0
        state.trailing_ids[slots, : packed.trailing_ids.shape[1]] = self._there(packed.trailing_ids)

    def _fill(self, inputs: Tensor, prompts: PackedPrompts, operations: Operations) -> None:
        weights, memory = self._weights, self._memory
        token_slots, positions = self._there(prompts.token_slots), self._there(prompts.token_positions)
        slots, starts = self._there(prompts.slots), self._there(prompts.starts)

        def attend(layer: int, qkv: Tensor) -> Tensor:
            heads, keys, values = weights.layers[layer].heads, memory.keys[layer], memory.values[layer]
            queries = operations.rotate_and_store(qkv, heads, weights.rotary, token_slots, positions, keys, values)
            return operations.prompt_attention(queries, keys, values, slots, starts, prompts.max_length)

        # The hidden states that come out belong to positions that nothing is drawn from.
        operations.run_decoder(weights, inputs, attend)

    def _rows(self, prompts: PackedPrompts) -> Tensor:
        """Input embeddings (M + n, hidden): summed in float32, rounded once."""
        rows = _gathered(self._tables.text, self._there(prompts.text_ids))
        rows += _gathered(self._codec_table, self._there(prompts.codec_ids))
        if prompts.speaker_rows.size:
            rows.index_add_(0, self._there(prompts.speaker_rows), self._there(prompts.speaker_embeddings))
        if prompts.reference_rows.size:
            sums = frame_rows(self._there(prompts.reference_codes), self._tables)
            rows.index_add_(0, self._there(prompts.reference_rows), sums)
        return rows.to(self._tables.text.dtype)

    def _there(self, array: NDArray[np.int32] | NDArray[np.int64] | NDArray[np.float32]) -> Tensor:
        tensor = torch.from_numpy(array)
        if self._device.type == "cpu":
            return tensor
        # Pinned memory goes back to torch's host allocator, which keeps it until the copy is through.
        return tensor.pin_memory().to(self._device, non_blocking=True)


def _gathered(table: Tensor, ids: Tensor) -> Tensor:
    """Rows of a table in float32, zeros where the id is none: (N,) -> (N, hidden)."""
    # Not a product with zero: the row that stands in for none may hold anything.
    return torch.where((ids >= 0).unsqueeze(1), table[ids.clamp_min(0)].float(), 0)
