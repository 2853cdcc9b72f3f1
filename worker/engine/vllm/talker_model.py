"""The talker as a model that vLLM runs: its layers are vLLM's, what stands around them is ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from worker.engine.model.config import ModelConfig, read_model_config
from worker.engine.model.speech_modules import modules_from, require_talker
from worker.engine.stages.code_predictor import CodePredictorStage
from worker.engine.stages.talker_embeddings import TalkerEnds
from worker.engine.vllm.arena import END_ID, Arena, padded
from worker.engine.vllm.internals import load_into, talker_layers

_LAYERS = "talker.model.layers."
_NORM = "talker.model.norm.weight"


class VllmTalker(nn.Module):
    """Called by model runner V1: `forward`, then `compute_logits` for the last row of each request.

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
        self._tokens = torch.zeros(0, dtype=torch.int64)

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
        unused = torch.zeros(self._vocab_size, self._config.talker.transformer.hidden_size)
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
        """int (N,) both -> hidden (N, hidden). The rows of a request lie behind one another, its last one last."""
        ids = input_ids.long()
        is_last = torch.ones_like(ids, dtype=torch.bool)
        is_last[:-1] = ids[1:] != ids[:-1]
        # Read back before the layers: behind them the host would wait for all that they compute.
        last = is_last.nonzero()[:, 0]
        hidden: Tensor = self.model(input_ids, positions, intermediate_tensors, self.arena.inputs(ids, positions))
        self._tokens = self.arena.speak(hidden[last], ids[last], positions[last])
        return hidden

    def compute_logits(self, hidden_states: Tensor) -> Tensor:
        """(B, hidden) of each request's last row, in the order of `forward` -> (B, vocabulary), all but one at -inf."""
        num_requests = hidden_states.shape[0]
        tokens = hidden_states.new_full((num_requests,), END_ID, dtype=torch.int64)
        # A trial run at start may ask for more rows than it has run.
        known = self._tokens[:num_requests]
        tokens[: known.shape[0]] = known
        logits = torch.full((num_requests, self._vocab_size), -torch.inf, device=hidden_states.device)
        return logits.scatter_(1, tokens.unsqueeze(1), 0.0)

    def _build_arena(self, tensors: dict[str, Tensor], source: str) -> Arena:
        """tensors: without those of the talker's layers."""
        transformer = replace(self._config.talker.transformer, num_layers=0)
        config = replace(self._config, talker=replace(self._config.talker, transformer=transformer))
        talker, predictor = modules_from(tensors, config, source, self._dtype, self._device)
        ends = TalkerEnds(self._config, talker, predictor.residual_embeddings)
        first_table = talker.model.codec_embedding.weight[: config.predictor.codebook_size]
        stage = CodePredictorStage(config.predictor, predictor, first_table, padded(self._num_slots))
        return Arena(self._config, ends, stage, self._num_slots, self._capacity)
