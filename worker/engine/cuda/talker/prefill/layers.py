"""The talker's layers over packed prompts: what fills the keys and values of the slots that were just given away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from worker.engine.cuda.talker.decode.operations import Operations
from worker.engine.cuda.talker.decode.weights import TalkerTransformerWeights
from worker.engine.cuda.talker.frame_step import KvMemory
from worker.engine.cuda.talker.host_to_device import sent
from worker.engine.cuda.talker.prefill.pack import PackedPrompts


@dataclass(frozen=True, slots=True)
class PromptTokens:
    """Where tokens belong, int32 on the device.

    token_slots, token_positions: (M,). slots: (n,); starts: (n + 1,), where each prompt's tokens begin; a prompt may be
    empty. max_length: no prompt is longer.
    """

    token_slots: Tensor
    token_positions: Tensor
    slots: Tensor
    starts: Tensor
    max_length: int


class PromptLayers(Protocol):
    """Single-threaded; waits for nothing."""

    def run(self, inputs: Tensor, prompts: PackedPrompts) -> None:
        """inputs: (M, hidden), which are lost. Keys and values of every token lie in its slot afterwards."""
        ...


class EagerPromptLayers:
    """Kernel by kernel, for any number of tokens."""

    def __init__(self, weights: TalkerTransformerWeights, memory: KvMemory, operations: Operations) -> None:
        self._weights = weights
        self._memory = memory
        self._operations = operations

    def run(self, inputs: Tensor, prompts: PackedPrompts) -> None:
        device = inputs.device
        tokens = PromptTokens(
            sent(prompts.token_slots, device),
            sent(prompts.token_positions, device),
            sent(prompts.slots, device),
            sent(prompts.starts, device),
            prompts.max_length,
        )
        self.fill(inputs, tokens)

    def fill(self, inputs: Tensor, tokens: PromptTokens) -> None:
        weights, memory, operations = self._weights, self._memory, self._operations

        def attend(layer: int, qkv: Tensor) -> Tensor:
            heads, keys, values = weights.layers[layer].heads, memory.keys[layer], memory.values[layer]
            queries = operations.rotate_and_store(
                qkv, heads, weights.rotary, tokens.token_slots, tokens.token_positions, keys, values
            )
            return operations.prompt_attention(queries, keys, values, tokens.slots, tokens.starts, tokens.max_length)

        # The hidden states that come out belong to positions that nothing is drawn from.
        operations.run_transformer(weights, inputs, attend)
