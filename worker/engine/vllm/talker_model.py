"""The talker as a model that vLLM runs: its layers are vLLM's, what stands around them is ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from worker.engine.cuda.talker.weights import SpeechWeights
from worker.engine.model.code_predictor import CodePredictor
from worker.engine.model.config import ModelConfig, read_model_config
from worker.engine.model.speech_modules import modules_from, require_talker
from worker.engine.model.talker import Talker
from worker.engine.stages.code_predictor import CodePredictorStage
from worker.engine.stages.talker_embeddings import TalkerEnds
from worker.engine.vllm.arena import NO_SLOT, Arena, FrameReports, padded
from worker.engine.vllm.frames import FrameMaker, PlainFrames, SlotFrames
from worker.engine.vllm.internals import load_into, talker_layers

_LAYERS = "talker.model.layers."
_NORM = "talker.model.norm.weight"


class VllmTalker(nn.Module):
    """Called by model runner V1: `forward`, which it captures, then `compute_logits` for the last row of each request.

    The draw of codebook 0, the code predictor and all state of a request are the arena's, so the logits for vLLM's
    sampler have one possible outcome.
    """

    def __init__(self, *, vllm_config: Any, prefix: str = "") -> None:  # noqa: ANN401
        super().__init__()
        self._checkpoint = Path(vllm_config.model_config.model)
        self._config: ModelConfig = read_model_config(self._checkpoint / "config.json")
        self._num_slots: int = vllm_config.scheduler_config.max_num_seqs
        self._capacity: int = vllm_config.model_config.max_model_len - 1
        self._vocab_size: int = vllm_config.model_config.hf_config.vocab_size
        self._dtype: torch.dtype = vllm_config.model_config.dtype
        self._device: torch.device = vllm_config.device_config.device
        self.model: Any = talker_layers(vllm_config, f"{prefix}.model" if prefix else "model")
        self._arena: Arena | None = None

    @property
    def arena(self) -> Arena:
        """Set once the weights are loaded."""
        assert self._arena is not None  # noqa: S101  (vLLM loads before it runs anything)
        return self._arena

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> set[str]:
        """Raises CheckpointError naming tensors that are not as published."""
        source = str(self._checkpoint / "model.safetensors")
        tensors = dict(weights)
        require_talker(tensors, self._config, source)
        is_layer = {name: name.startswith(_LAYERS) for name in tensors}
        self._arena = self._build_arena({name: tensors[name] for name in tensors if not is_layer[name]}, source)
        layers = [
            (name.removeprefix("talker."), tensor)
            for name, tensor in tensors.items()
            if is_layer[name] or name == _NORM
        ]
        # No input is looked up by its token, but the layers have a table for that.
        unused = torch.zeros(self._vocab_size, self._config.talker.transformer.hidden_size, dtype=self._dtype)
        return load_into(self, [*layers, ("model.embed_tokens.weight", unused)])

    def embed_input_ids(self, input_ids: Tensor) -> Tensor:
        """Part of what vLLM expects of a model; it has no positions, so nothing of ours calls it."""
        return self.model.embed_input_ids(input_ids)

    def forward(
        self,
        input_ids: Tensor,
        positions: Tensor,
        intermediate_tensors: object = None,
        inputs_embeds: Tensor | None = None,
    ) -> Tensor:
        """int (N,) both -> hidden (N, hidden), with their labels."""
        ids = input_ids.long().clamp(0, self._num_slots)
        hidden: Tensor = self.model(input_ids, positions, intermediate_tensors, self.arena.inputs(ids, positions))
        return self.arena.labelled(hidden, ids, positions)

    def compute_logits(self, hidden_states: Tensor) -> Tensor:
        """Of each request's last row, as `forward` gave it -> (B, vocabulary), all but one at -inf."""
        tokens = self.arena.speak(*self.arena.unlabelled(hidden_states))
        logits = torch.full((len(tokens), self._vocab_size), -torch.inf, dtype=torch.float32, device=tokens.device)
        return logits.scatter_(1, tokens.unsqueeze(1), 0.0)

    def _build_arena(self, tensors: dict[str, Tensor], source: str) -> Arena:
        """tensors: without those of the talker's layers."""
        transformer = replace(self._config.talker.transformer, num_layers=0)
        config = replace(self._config, talker=replace(self._config.talker, transformer=transformer))
        talker, predictor = modules_from(tensors, config, source, self._dtype, self._device)
        hidden_size = transformer.hidden_size
        # Not written before a prompt comes, so that a CPU has memory only for the prompts that do.
        prompts = torch.empty(self._num_slots + 1, self._capacity, hidden_size, dtype=self._dtype, device=self._device)
        prompts[NO_SLOT] = 0
        spoken = FrameReports(self._num_slots, self._capacity, config.talker.num_codebooks)
        return Arena(self._frame_maker(config, talker, predictor), spoken, prompts)

    def _frame_maker(self, config: ModelConfig, talker: Talker, predictor: CodePredictor) -> FrameMaker:
        if self._device.type == "cpu":
            ends = TalkerEnds(config, talker, predictor.residual_embeddings)
            first_table = talker.model.codec_embedding.weight[: config.predictor.codebook_size]
            stage = CodePredictorStage(config.predictor, predictor, first_table, padded(self._num_slots))
            return PlainFrames(config, ends, stage, self._num_slots, self._capacity)
        # Compiled for a GPU's own language, which is not installed elsewhere.
        from worker.engine.cuda.talker.decode.triton_operations import operations_kind

        weights = SpeechWeights.of(config, talker, predictor, self._capacity)
        arrivals = torch.zeros(self._num_slots, dtype=torch.int32, device=self._device)
        return SlotFrames(
            weights,
            lambda num_rows: operations_kind(num_rows)(1, arrivals),
            self._num_slots,
            self._capacity,
            config.text_control.tts_pad,
        )
