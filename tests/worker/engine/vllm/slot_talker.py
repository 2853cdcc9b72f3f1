"""The talker as it is on a GPU, but for the language of its kernels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tests.worker.engine.cuda.plain_operations import PlainOperations
from worker.engine.cuda.talker.weights import SpeechWeights
from worker.engine.model.code_predictor import CodePredictor
from worker.engine.model.config import ModelConfig
from worker.engine.model.talker import Talker
from worker.engine.vllm.frames import FrameMaker, SlotFrames
from worker.engine.vllm.talker_model import VllmTalker


class SlotTalker(VllmTalker):
    """Its frames are `SlotFrames`. Each step is filled up with rows that are due, as a captured step may be."""

    def forward(self, input_ids: Tensor, positions: Tensor, *others: Any, **more: Any) -> Tensor:
        hidden = super().forward(input_ids, positions, *others, **more)
        self.arena.inputs(input_ids.long().roll(1), positions + self._capacity)
        return torch.cat((hidden, hidden.roll(1, dims=0)))

    def _frame_maker(self, config: ModelConfig, talker: Talker, predictor: CodePredictor) -> FrameMaker:
        weights = SpeechWeights.of(config, talker, predictor, self._capacity)
        operations = PlainOperations(weights.num_codebooks, weights.codebook_size, self._device)
        pad_id = config.text_control.tts_pad
        return SlotFrames(weights, lambda _: operations, self._num_slots, self._capacity, pad_id)
