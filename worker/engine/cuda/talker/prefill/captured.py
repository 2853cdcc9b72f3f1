"""Passes over prompts as CUDA graphs, for the numbers of tokens that arrivals beside running streams have.

Launching such a pass kernel by kernel takes the host several times as long as its work takes the device. The newcomer
and the running streams all wait for it. A graph needs fixed shapes, so unused places hold empty prompts, and no prompt
is longer than all tokens together. Programs without work end at once, and the others run as without a graph.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from worker.engine.cuda.talker.host_to_device import sent
from worker.engine.cuda.talker.prefill.layers import EagerPromptLayers, PromptTokens
from worker.engine.cuda.talker.prefill.pack import PackedPrompts, padded_places

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
