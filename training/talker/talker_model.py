"""Talker and code predictor in training form. Names as published."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.dimensions import TALKER, StackDimensions, TalkerDimensions
from training.layers import Attention, RMSNorm, SwiGLU, rotary_tables

DROPOUT = 0.05
_ROLE_ROWS = 3


@dataclass(frozen=True, slots=True)
class Hidden:
    """states (B, T, C), after the final norm; scores (B, T, T): of the guided head, None where none is guided."""

    states: Tensor
    scores: Tensor | None


class Layer(nn.Module):
    def __init__(self, d: StackDimensions, dropout: float) -> None:
        super().__init__()
        norms = (RMSNorm(d.head_dim, d.norm_eps), RMSNorm(d.head_dim, d.norm_eps))
        self.self_attn = Attention(d.hidden_size, d.num_heads, d.num_kv_heads, d.head_dim, norms)
        self.mlp = SwiGLU(d.hidden_size, d.intermediate_size)
        self.input_layernorm = RMSNorm(d.hidden_size, d.norm_eps)
        self.post_attention_layernorm = RMSNorm(d.hidden_size, d.norm_eps)
        self._dropout = dropout

    def forward(self, x: Tensor, tables: tuple[Tensor, Tensor]) -> Tensor:
        return self._rest(x, self.self_attn(self.input_layernorm(x), tables))

    def forward_scored(self, x: Tensor, tables: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Also the raw scores of head 0, (B, T, T)."""
        attention = self.self_attn
        q, k, v = attention.project(self.input_layernorm(x), tables)
        scores = (q[:, 0] @ k[:, 0].transpose(1, 2)).float() * attention.head_dim**-0.5
        return self._rest(x, attention.attend(q, k, v, None)), scores

    def _rest(self, x: Tensor, attended: Tensor) -> Tensor:
        x = x + F.dropout(attended, self._dropout, self.training)
        return x + F.dropout(self.mlp(self.post_attention_layernorm(x)), self._dropout, self.training)


class Stack(nn.Module):
    def __init__(self, d: StackDimensions, dropout: float) -> None:
        super().__init__()
        self._dimensions = d
        self.layers = nn.ModuleList([Layer(d, dropout) for _ in range(d.num_layers)])
        self.norm = RMSNorm(d.hidden_size, d.norm_eps)

    def run(self, x: Tensor, guided_layer: int | None = None) -> Hidden:
        d = self._dimensions
        tables = rotary_tables(x.shape[1], d.head_dim, d.rope_theta, x.device)
        scores = None
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, Layer)  # noqa: S101  (as the list was put together)
            if number == guided_layer:
                x, scores = layer.forward_scored(x, tables)
            else:
                x = layer(x, tables)
        return Hidden(self.norm(x), scores)


class TalkerStack(Stack):
    def __init__(self, d: TalkerDimensions, dropout: float) -> None:
        super().__init__(d.stack, dropout)
        self.codec_embedding = nn.Embedding(d.vocab_size, d.stack.hidden_size)
        self.text_embedding = nn.Embedding(d.text_vocab_size, d.text_hidden_size)


class PredictorStack(Stack):
    def __init__(self, d: TalkerDimensions, dropout: float) -> None:
        super().__init__(d.predictor, dropout)
        tables = [nn.Embedding(d.codebook_size, d.stack.hidden_size) for _ in range(d.num_codebooks - 1)]
        self.codec_embedding = nn.ModuleList(tables)


class CodePredictor(nn.Module):
    """Codebooks 1 and up of one frame, each from the talker's state and the codebooks before it."""

    def __init__(self, d: TalkerDimensions, dropout: float) -> None:
        super().__init__()
        self.model = PredictorStack(d, dropout)
        heads = [nn.Linear(d.predictor.hidden_size, d.codebook_size, bias=False) for _ in range(d.num_codebooks - 1)]
        self.lm_head = nn.ModuleList(heads)
        self.small_to_mtp_projection = nn.Linear(d.stack.hidden_size, d.predictor.hidden_size)

    def logits(self, inputs: Tensor) -> list[Tensor]:
        """inputs (N, Q, C): the talker's state, then the embeddings of codebooks 0 to Q - 2."""
        states = self.model.run(self.small_to_mtp_projection(inputs)).states
        return [head(states[:, number + 1]) for number, head in enumerate(self.lm_head)]


class TextProjection(nn.Module):
    def __init__(self, d: TalkerDimensions) -> None:
        super().__init__()
        self.linear_fc1 = nn.Linear(d.text_hidden_size, d.text_hidden_size)
        self.linear_fc2 = nn.Linear(d.text_hidden_size, d.stack.hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear_fc2(F.silu(self.linear_fc1(x)))


class Talker(nn.Module):
    def __init__(self, d: TalkerDimensions = TALKER, dropout: float = DROPOUT) -> None:
        super().__init__()
        self._dimensions = d
        self.model = TalkerStack(d, dropout)
        self.text_projection = TextProjection(d)
        self.codec_head = nn.Linear(d.stack.hidden_size, d.vocab_size, bias=False)
        self.code_predictor = CodePredictor(d, dropout / 2)
        self._initialise()

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.02)
                for bias in (parameter for name, parameter in module.named_parameters() if name == "bias"):
                    nn.init.zeros_(bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.05)
        for name, parameter in self.named_parameters():
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * self._dimensions.stack.num_layers))

    def compile_layers(self) -> None:
        """Every layer by itself: they share what is compiled, whatever the lengths."""
        for module in self.modules():
            if isinstance(module, Layer):
                module.compile(dynamic=True)

    def text(self, ids: Tensor) -> Tensor:
        return self.text_projection(self.model.text_embedding(ids))

    def frames(self, codes: Tensor) -> Tensor:
        """codes (..., Q) -> the sum of their embeddings (..., C)."""
        total = self.model.codec_embedding(codes[..., 0])
        for number, table in enumerate(self.code_predictor.model.codec_embedding):
            total = total + table(codes[..., number + 1])
        return total

    def inputs(self, text: Tensor, control: Tensor, is_frame: Tensor, frames: Tensor) -> Tensor:
        """text ids and is_frame (B, T), control embedded (B, T, C), frames (B, T, Q) -> (B, T, C)."""
        codec = torch.where(is_frame[..., None], self.frames(frames), control)
        # The rows of the role have no codec part.
        codec[:, :_ROLE_ROWS] = 0
        return self.text(text) + codec

    def predictor_logits(self, states: Tensor, codes: Tensor) -> list[Tensor]:
        """states (N, C), codes (N, Q) -> Q - 1 logits (N, K), each told the codebooks before it."""
        tables = list(self.code_predictor.model.codec_embedding)[:-1]
        inputs = [states, self.model.codec_embedding(codes[:, 0])]
        inputs += [table(codes[:, number + 1]) for number, table in enumerate(tables)]
        return self.code_predictor.logits(torch.stack(inputs, 1))
