"""The talker and the code predictor over slots: admission of prompts, and the frame step that runs the slots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from worker.engine.cuda.slot_state import SlotState
from worker.engine.cuda.talker.decode.operations import Operations
from worker.engine.cuda.talker.frame_step import FrameStep, KvMemory
from worker.engine.cuda.talker.prefill.layers import EagerPromptLayers, PromptLayers
from worker.engine.cuda.talker.prefill.pack import SlotAdmission, TextUpdate, pack_prompts, pack_slots, scratch_prompt
from worker.engine.cuda.talker.prefill.prefill import PromptPass
from worker.engine.cuda.talker.weights import SpeechWeights


class SlotTalker:
    """Everything is allocated here, once. Single-threaded; what names the same slots belongs on one stream."""

    def __init__(
        self,
        weights: SpeechWeights,
        num_slots: int,
        capacity: int,
        max_rows: int,
        pad_id: int,
        cache_dtype: torch.dtype | None = None,
    ) -> None:
        """capacity: positions of a slot; max_rows: of a step; pad_id: the text id behind a request's own.

        cache_dtype: of the talker's keys and values; None: that of the weights.
        """
        hidden_size = weights.codec_table.shape[1]
        self.state = SlotState.allocate(
            num_slots, capacity, weights.codebook_size, hidden_size, weights.dtype, weights.device
        )
        self.memory = KvMemory.allocate(
            weights.talker.transformer, num_slots + 1, capacity, cache_dtype or weights.dtype, weights.device
        )
        self._weights = weights
        self.step = self.frame_step(max_rows)
        self.capacity = capacity
        self.num_codebooks = weights.num_codebooks
        self._prompts = PromptPass(weights.codec_table, weights.tables, self.state)
        self._codebook_size = weights.codebook_size
        self._pad_id = pad_id

    def frame_step(self, max_rows: int) -> FrameStep:
        """Steps over the slots. Two of them may run side by side, if no slot is in both."""
        weights = self._weights
        return FrameStep(weights.talker, weights.predictor, weights.tables, self.state, self.memory, max_rows)

    def eager_layers(self, operations: Operations) -> EagerPromptLayers:
        """The layers that prompts go through, kernel by kernel."""
        return EagerPromptLayers(self._weights.talker.transformer, self.memory, operations)

    @torch.inference_mode()
    def warm_up(self, num_tokens: int, layers: PromptLayers) -> None:
        """One pass that changes no request's state: kernels compile and libraries choose theirs."""
        self._prompts.run(scratch_prompt(num_tokens, self.state.num_slots, self.capacity), layers)

    @torch.inference_mode()
    def admit(self, admissions: Sequence[SlotAdmission], num_tokens: int, layers: PromptLayers) -> None:
        """One pass of `num_tokens` tokens, at least the prefill rows of all; the slots then run."""
        self._prompts.run(pack_prompts(admissions, num_tokens, self.state.num_slots, self._pad_id), layers)
        self._prompts.set_slots(pack_slots(admissions, self._codebook_size, self._pad_id))

    @torch.inference_mode()
    def extend(self, slot: int, start: int, ids: Sequence[int], max_frames: int) -> None:
        """Text beside frame `start` of the slot and those after it; the slot makes none of these before."""
        self._prompts.extend_text(slot, TextUpdate(start, np.array([*ids, self._pad_id], dtype=np.int32), max_frames))
