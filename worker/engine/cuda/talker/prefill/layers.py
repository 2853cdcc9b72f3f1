"""The talker's layers over packed prompts: what fills the keys and values of the slots that were just given away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from worker.engine.cuda.talker.decode.operations import Operations
from worker.engine.cuda.talker.decode.weights import TalkerTransformerWeights
from worker.engine.cuda.talker.frame_step import KvMemory
from worker.engine.cuda.talker.host_to_device import sent
from worker.engine.cuda.talker.prefill.pack import PackedPrompts, padded_places


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


# Prompts of fewer tokens than 1,024 / 16 on average run kernel by kernel: no text is that short all the time.
_MOST_PROMPTS = 16


class CapturedPromptLayers:
    """`PromptLayers` over graphs captured at construction; a capture that fails is an error of the start.

    Passes of other sizes, which only many long prompts at once make, run kernel by kernel.
    """

    def __init__(
        self,
        eager: EagerPromptLayers,
        inputs: Tensor,
        token_buckets: Sequence[int],
        scratch_slot: int,
        stream: torch.cuda.Stream,
    ) -> None:
        """inputs: (most tokens, hidden), whose numbers are lost: all graphs read theirs here."""
        most = inputs.shape[0]
        self._eager = eager
        self._inputs = inputs
        self._scratch_slot = scratch_slot
        self._places = torch.full(
            (2 * most + 2 * _MOST_PROMPTS + 1,), scratch_slot, dtype=torch.int32, device=inputs.device
        )
        parts = self._places.split((most, most, _MOST_PROMPTS, _MOST_PROMPTS + 1))
        self._token_slots, self._token_positions, self._slots, self._starts = parts
        self._token_positions.zero_()
        self._starts.zero_()
        self._graphs = self._capture(sorted(token_buckets, reverse=True), stream)

    def run(self, inputs: Tensor, prompts: PackedPrompts) -> None:
        graph = self._graphs.get(prompts.num_tokens)
        if graph is None or prompts.slots.shape[0] > _MOST_PROMPTS:
            self._eager.run(inputs, prompts)
            return
        places = padded_places(prompts, self._inputs.shape[0], _MOST_PROMPTS, self._scratch_slot)
        self._inputs[: prompts.num_tokens].copy_(inputs)
        self._places.copy_(sent(places, self._places.device))
        graph.replay()

    @torch.inference_mode()
    def _capture(self, token_buckets: Sequence[int], stream: torch.cuda.Stream) -> dict[int, torch.cuda.CUDAGraph]:
        """Largest first, so that the smaller graphs find their memory in the pool of the largest."""
        graphs: dict[int, torch.cuda.CUDAGraph] = {}
        pool = torch.cuda.graph_pool_handle()
        for num_tokens in token_buckets:
            tokens = PromptTokens(
                self._token_slots[:num_tokens],
                self._token_positions[:num_tokens],
                self._slots,
                self._starts,
                num_tokens,
            )
            with torch.cuda.stream(stream):
                # Kernels compile and libraries choose theirs outside of the capture. All tokens are the scratch slot's.
                self._eager.fill(self._inputs[:num_tokens], tokens)
            stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool, stream=stream):
                self._eager.fill(self._inputs[:num_tokens], tokens)
            graphs[num_tokens] = graph
        return graphs
