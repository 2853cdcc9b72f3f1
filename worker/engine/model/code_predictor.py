"""The code predictor: codebooks 1 to Q - 1 of a frame, one after the other.

It sees at most Q + 1 positions: the talker's hidden state, the embedding of codebook 0, then of each codebook it
has drawn. Its state dies with the frame.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from worker.engine.model.config import CodePredictorConfig
from worker.engine.model.layers import Attend, Rotation, TransformerStack
from worker.engine.model.weights import StackedModule


class StackedTables(StackedModule):
    """Published tables `<name>.0`, `<name>.1`, … of equal shape, one behind the other: (tables, rows, width)."""

    def __init__(self, name: str, num_tables: int, num_rows: int, width: int) -> None:
        super().__init__()
        self._name = name
        self.weight = nn.Parameter(torch.empty(num_tables, num_rows, width))

    def published_views(self) -> Mapping[str, Tensor]:
        return {f"{self._name}.{index}.weight": table for index, table in enumerate(self.weight)}


class CodePredictorModel(TransformerStack):
    def __init__(self, config: CodePredictorConfig) -> None:
        super().__init__(config.transformer)
        self.embeddings = StackedTables(
            "codec_embedding", config.num_codebooks - 1, config.codebook_size, config.talker_hidden_size
        )


class CodePredictor(nn.Module):
    def __init__(self, config: CodePredictorConfig) -> None:
        super().__init__()
        self.model = CodePredictorModel(config)
        self.heads = StackedTables(
            "lm_head", config.num_codebooks - 1, config.codebook_size, config.transformer.hidden_size
        )
        # Checkpoints whose talker is as wide as the predictor have no tensors for it.
        widths = (config.talker_hidden_size, config.transformer.hidden_size)
        self.small_to_mtp_projection = nn.Linear(*widths) if widths[0] != widths[1] else nn.Identity()

    @property
    def residual_embeddings(self) -> Tensor:
        """Tables of codebooks 1 to Q - 1 in the talker's width: (Q - 1, codebook_size, talker_hidden)."""
        return self.model.embeddings.weight

    def project(self, x: Tensor) -> Tensor:
        """(N, talker_hidden) -> (N, hidden)."""
        return self.small_to_mtp_projection(x)

    def forward(self, x: Tensor, rotation: Rotation, attend: Attend) -> Tensor:
        """(N, hidden) -> (N, hidden), normed."""
        return self.model(x, rotation, attend)
