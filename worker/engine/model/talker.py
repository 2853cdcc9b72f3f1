"""The talker: sums of text and codec embeddings in, never ids; the hidden state and logits of codebook 0 out."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from worker.engine.model.config import TalkerConfig
from worker.engine.model.layers import Attend, Rotation, TransformerStack


class TextProjection(nn.Module):
    """From the text embedding's width to the talker's."""

    def __init__(self, config: TalkerConfig) -> None:
        super().__init__()
        self.linear_fc1 = nn.Linear(config.text_hidden_size, config.text_hidden_size)
        self.linear_fc2 = nn.Linear(config.text_hidden_size, config.transformer.hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear_fc2(F.silu(self.linear_fc1(x)))


class TalkerModel(TransformerStack):
    def __init__(self, config: TalkerConfig) -> None:
        super().__init__(config.transformer)
        table = nn.Embedding.from_pretrained  # to draw initial values on "meta" imports torch._dynamo: a second
        self.text_embedding = table(torch.empty(config.text_vocab_size, config.text_hidden_size))
        self.codec_embedding = table(torch.empty(config.vocab_size, config.transformer.hidden_size))


class Talker(nn.Module):
    def __init__(self, config: TalkerConfig) -> None:
        super().__init__()
        self.model = TalkerModel(config)
        self.text_projection = TextProjection(config)
        self.codec_head = nn.Linear(config.transformer.hidden_size, config.vocab_size, bias=False)

    def text_rows(self, text_ids: Tensor) -> Tensor:
        """int64 (N,) -> (N, hidden)."""
        return self.text_projection(self.model.text_embedding(text_ids))

    def codec_rows(self, codec_ids: Tensor) -> Tensor:
        """int64 (…) of the whole codec vocabulary, control ids included -> (…, hidden)."""
        return self.model.codec_embedding(codec_ids)

    def forward(self, x: Tensor, rotation: Rotation, attend: Attend) -> Tensor:
        """(N, hidden) -> the normed hidden (N, hidden), which both the head and the code predictor take."""
        return self.model(x, rotation, attend)
