"""Admission: many prompts through the talker in one pass, and their slots' first state."""

from __future__ import annotations

import torch
from torch import Tensor

from worker.engine.cuda.slot_state import FrameTables, SlotState
from worker.engine.cuda.talker.host_to_device import sent
from worker.engine.cuda.talker.prefill.layers import PromptLayers
from worker.engine.cuda.talker.prefill.pack import PackedPrompts, PackedSlots, TextUpdate


class PromptPass:
    """Single-threaded. Nothing here waits for the device."""

    def __init__(self, codec_table: Tensor, tables: FrameTables, state: SlotState) -> None:
        """codec_table: embeddings of the whole codec vocabulary, control ids included, (vocabulary, hidden)."""
        self._codec_table = codec_table
        self._tables = tables
        self._state = state
        self._device = codec_table.device
        self._spoken = torch.ones((), dtype=state.present.dtype, device=self._device)

    def run(self, prompts: PackedPrompts, layers: PromptLayers) -> None:
        """Fills the slots' keys, values and next inputs."""
        rows, num_tokens = self._rows(prompts), prompts.num_tokens
        self._state.next_input[sent(prompts.slots, self._device).long()] = rows[num_tokens:]
        if prompts.max_length:
            layers.run(rows[:num_tokens], prompts)

    def set_slots(self, packed: PackedSlots) -> None:
        """From here on the slots run."""
        state, slots = self._state, sent(packed.slots, self._device).long()
        integers, floats = sent(packed.integers, self._device), sent(packed.floats, self._device)
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
        # Not by an assignment: one of a plain number to rows that a tensor names waits for the device.
        state.present.index_fill_(0, slots, 0)
        if packed.spoken.size:
            spoken_slots, entries = sent(packed.spoken, self._device)
            state.present.index_put_((spoken_slots, entries), self._spoken)
        state.trailing_ids[slots, : packed.trailing_ids.shape[1]] = sent(packed.trailing_ids, self._device)

    def extend_text(self, slot: int, text: TextUpdate) -> None:
        """From the next frame on the slot has more text beside its frames."""
        state = self._state
        state.trailing_ids[slot, text.start : text.start + len(text.ids)] = sent(text.ids, self._device)
        state.trailing_length[slot].fill_(text.start + len(text.ids) - 1)
        state.max_frames[slot].fill_(text.max_frames)

    def _rows(self, prompts: PackedPrompts) -> Tensor:
        """Input embeddings (M + n, hidden): summed in float32, rounded once."""
        rows = _gathered(self._tables.text, sent(prompts.text_ids, self._device))
        rows += _gathered(self._codec_table, sent(prompts.codec_ids, self._device))
        if prompts.speaker_rows.size:
            rows.index_add_(0, sent(prompts.speaker_rows, self._device), sent(prompts.speaker_embeddings, self._device))
        if prompts.reference_rows.size:
            sums = frame_rows(sent(prompts.reference_codes, self._device), self._tables)
            rows.index_add_(0, sent(prompts.reference_rows, self._device), sums)
        return rows.to(self._tables.text.dtype)


def _gathered(table: Tensor, ids: Tensor) -> Tensor:
    """Rows of a table in float32, zeros where the id is none: (N,) -> (N, hidden)."""
    # Not a product with zero: the row that stands in for none may hold anything.
    return torch.where((ids >= 0).unsqueeze(1), table[ids.clamp_min(0)].float(), 0)


def frame_rows(codes: Tensor, tables: FrameTables) -> Tensor:
    """Sums of the embeddings of all codebooks in float32: (N, Q) -> (N, hidden)."""
    books = torch.arange(tables.residual.shape[0], device=codes.device)
    residual = tables.residual[books, codes[:, 1:]]
    return torch.cat((tables.first[codes[:, :1]], residual), dim=1).float().sum(dim=1)
