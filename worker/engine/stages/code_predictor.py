"""The code predictor as it is run: one pass per residual codebook, all rows side by side.

The first pass takes two positions, the talker's hidden state and codebook 0, which are both known before it; every
other pass takes one, the code just drawn. A pass has a fixed shape for a given number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from worker.engine.model.code_predictor import CodePredictor
from worker.engine.model.config import CodePredictorConfig
from worker.engine.model.layers import RotaryTable, Rotation
from worker.engine.requests.sampling import Draw, StepSampling, sample

_FIRST_POSITIONS = 2


class CodePredictorStage:
    """Owns the keys and values of the frame being made; single-threaded."""

    def __init__(
        self, config: CodePredictorConfig, predictor: CodePredictor, first_table: Tensor, num_rows: int
    ) -> None:
        """first_table: the talker's embeddings of codebook 0, (codebook_size, talker_hidden)."""
        transformer, device = config.transformer, first_table.device
        self._predictor = predictor
        self._num_codebooks = config.num_codebooks
        self._heads = tuple(predictor.heads.weight)
        # Of codebooks 0 to Q - 2 as the predictor takes them, projected once instead of every frame.
        tables = (first_table, *predictor.residual_embeddings[:-1])
        self._input_tables = tuple(predictor.project(table) for table in tables)
        rotary = RotaryTable(transformer, config.num_codebooks, device)
        self._rotations = tuple(rotary.span(position, position + 1) for position in range(config.num_codebooks))
        self._first_rotation = rotary.at(torch.arange(_FIRST_POSITIONS, device=device).repeat(num_rows))
        shape = (transformer.num_layers, num_rows, config.num_codebooks, transformer.num_kv_heads, transformer.head_dim)
        self._keys = torch.zeros(shape, dtype=first_table.dtype, device=device)
        self._values = torch.zeros_like(self._keys)

    def complete(
        self, hidden: Tensor, first_codes: Tensor, noise: Sequence[Tensor], rows: StepSampling, draw: Draw
    ) -> tuple[Tensor, Tensor]:
        """Draw the residual codes of one frame.

        hidden (B, talker_hidden), first_codes int64 (B,), noise: one (B, codebook_size) per residual codebook -> codes
        int64 (B, Q). Codebook 0 comes first. Also the winning scores (B, Q - 1), non-finite in a sick row.
        """
        codes, scores = [first_codes], list[Tensor]()
        for g, head in enumerate(self._heads):
            inputs = self._input_tables[g].index_select(0, codes[-1])
            state = self._pass(inputs, g + 1) if g else self._first_pass(self._predictor.project(hidden), inputs)
            code, score = sample(F.linear(state, head).float(), noise[g], rows, draw)
            codes.append(code)
            scores.append(score)
        return torch.stack(codes, dim=1), torch.stack(scores, dim=1)

    def _first_pass(self, projected: Tensor, first: Tensor) -> Tensor:
        """The hidden state and codebook 0, (B, hidden) each -> what comes out behind codebook 0, (B, hidden)."""
        pairs = torch.stack((projected, first), dim=1).flatten(0, 1)
        factors, num_tokens = self._first_rotation, pairs.shape[0]
        rotation = Rotation(factors.cos[:num_tokens], factors.sin[:num_tokens])
        states = self._predictor(pairs, rotation, _FirstAttention(self._keys, self._values))
        return states[_FIRST_POSITIONS - 1 :: _FIRST_POSITIONS]

    def _pass(self, inputs: Tensor, position: int) -> Tensor:
        return self._predictor(inputs, self._rotations[position], _FrameAttention(self._keys, self._values, position))


class _FirstAttention:
    """Positions 0 and 1 of every row, next to each other: each attends as in a separate pass.

    One call for both would be less work, and would round in other ways than calls for one position each.
    """

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        self._positions = tuple(_FrameAttention(keys, values, position) for position in range(_FIRST_POSITIONS))

    def __call__(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        attended = [
            attend(layer, *(tokens[position::_FIRST_POSITIONS] for tokens in (queries, keys, values)))
            for position, attend in enumerate(self._positions)
        ]
        return torch.stack(attended, dim=1).flatten(0, 1)


class _FrameAttention:
    """Attention over the frame's positions so far."""

    def __init__(self, keys: Tensor, values: Tensor, position: int) -> None:
        self._keys = keys
        self._values = values
        self._position = position

    def __call__(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        num_rows, num_kv_heads, head_dim = keys.shape
        frame_keys, frame_values = self._keys[layer, :num_rows], self._values[layer, :num_rows]
        frame_keys[:, self._position] = keys
        frame_values[:, self._position] = values
        length = self._position + 1
        attended = F.scaled_dot_product_attention(
            # Turned in fp32 by the rotary factors.
            queries.to(frame_keys.dtype).view(num_rows, num_kv_heads, -1, head_dim),
            frame_keys[:, :length].transpose(1, 2),
            frame_values[:, :length].transpose(1, 2),
        )
        return attended.reshape(num_rows, -1)
