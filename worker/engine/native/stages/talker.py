"""The talker as it is run: prompts into rows of the KV cache, then one token per row and frame.

The logits have one lane per entry of codebook 0 and one, the last, for the end of speech. Upstream computes the
whole codec vocabulary and suppresses the control ids; leaving their rows out of the head gives the same draw.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from worker.engine.native.kv_cache import KvCache
from worker.engine.native.model.config import ModelConfig
from worker.engine.native.model.layers import RotaryTable
from worker.engine.native.model.talker import Talker
from worker.engine.native.prompt import NO_ID, Ids, PromptLayout


class TalkerStage:
    """Owns the talker's KV cache; single-threaded."""

    def __init__(
        self, config: ModelConfig, talker: Talker, residual_embeddings: Tensor, num_rows: int, capacity: int
    ) -> None:
        """residual_embeddings: the code predictor's tables, (Q - 1, codebook_size, hidden)."""
        head = talker.codec_head.weight
        decoder, codebook_size = config.talker.decoder, config.predictor.codebook_size
        eos = config.talker.control.eos
        self._talker = talker
        self._device = head.device
        self._head = torch.cat((head[:codebook_size], head[eos : eos + 1])).contiguous()
        self._residual_tables = residual_embeddings.flatten(0, 1)
        self._residual_offsets = torch.arange(residual_embeddings.shape[0], device=head.device) * codebook_size
        self._rotary = RotaryTable(decoder, capacity, head.device)
        self._positions = torch.arange(capacity, device=head.device)
        self._row_starts = torch.arange(num_rows, device=head.device) * capacity
        self._pad_id = torch.tensor([config.text_control.tts_pad], device=head.device)
        self.cache = KvCache(decoder, num_rows, capacity, head.device)

    @property
    def device(self) -> torch.device:
        return self._device

    def prompt_rows(self, layout: PromptLayout) -> Tensor:
        """Input embeddings of the whole prompt: (P, hidden)."""
        hidden_size = self._head.shape[1]
        rows = torch.zeros(layout.num_rows, hidden_size, device=self._device)
        with_text, with_codec = layout.text_ids != NO_ID, layout.codec_ids != NO_ID
        rows[self._on_device(with_text.nonzero()[0])] = self._talker.text_rows(
            self._on_device(layout.text_ids[with_text])
        )
        rows[self._on_device(with_codec.nonzero()[0])] += self._talker.codec_rows(
            self._on_device(layout.codec_ids[with_codec])
        )
        if layout.speaker is not None:
            rows[layout.speaker.row] += torch.from_numpy(layout.speaker.embedding).to(rows)
        if layout.reference is not None:
            codes = self._on_device(layout.reference.codes.astype("int64"))
            rows[layout.reference.start : layout.reference.start + codes.shape[0]] += self.frame_rows(codes)
        return rows

    def trailing_rows(self, layout: PromptLayout) -> Tensor:
        """The text side of the inputs made of frames 0 to n - 1, and PAD for all that follow: (n + 1, hidden)."""
        return self._talker.text_rows(torch.cat((self._on_device(layout.trailing_text_ids), self._pad_id)))

    def frame_rows(self, codes: Tensor) -> Tensor:
        """Sum of the embeddings of all codebooks: int64 (N, Q) -> (N, hidden)."""
        residual = F.embedding(codes[:, 1:] + self._residual_offsets, self._residual_tables)
        # One sum over all codebooks, as upstream rounds it.
        return torch.cat((self._talker.codec_rows(codes[:, :1]), residual), dim=1).sum(dim=1)

    def prefill(self, row: int, rows: Tensor) -> None:
        """Fill positions 0 to N - 1 of a cache row with the prompt rows (N, hidden)."""
        attend = _PromptAttention(self.cache, row)
        self._talker(rows, self._rotary.span(0, rows.shape[0]), attend)

    def decode(self, inputs: Tensor, positions: Tensor, length: int) -> Tensor:
        """One token for each of the first B rows.

        inputs (B, hidden), positions int64 (B,) -> normed hidden (B, hidden). length: more than any position.
        """
        num_rows = inputs.shape[0]
        mask = torch.where(self._positions[:length] <= positions.unsqueeze(1), 0.0, -torch.inf)
        places = self._row_starts[:num_rows] + positions
        attend = _RowsAttention(self.cache, places, mask.view(num_rows, 1, 1, length))
        return self._talker(inputs, self._rotary.at(positions), attend)

    def logits(self, hidden: Tensor) -> Tensor:
        """(B, hidden) -> float32 (B, codebook_size + 1); the last lane ends the speech."""
        return F.linear(hidden, self._head).float()

    def _on_device(self, ids: Ids) -> Tensor:
        return torch.from_numpy(ids).to(self._device)


class _PromptAttention:
    """Causal attention among the tokens of one prompt."""

    def __init__(self, cache: KvCache, row: int) -> None:
        self._cache = cache
        self._row = row

    def __call__(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        self._cache.write_prompt(layer, self._row, keys, values)
        attended = F.scaled_dot_product_attention(
            queries.transpose(0, 1).unsqueeze(0),
            keys.transpose(0, 1).unsqueeze(0),
            values.transpose(0, 1).unsqueeze(0),
            is_causal=True,
            enable_gqa=True,
        )
        return attended.squeeze(0).transpose(0, 1).flatten(1)


class _RowsAttention:
    """One token per row over the row's own history; the query heads of a KV head stand as its query positions."""

    def __init__(self, cache: KvCache, places: Tensor, mask: Tensor) -> None:
        """mask: 0 or -inf, (B, 1, 1, length)."""
        self._cache = cache
        self._places = places
        self._mask = mask

    def __call__(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        self._cache.write(layer, self._places, keys, values)
        num_rows, num_kv_heads, head_dim = keys.shape
        all_keys, all_values = self._cache.prefix(layer, num_rows, self._mask.shape[-1])
        grouped = queries.view(num_rows, num_kv_heads, -1, head_dim)
        attended = F.scaled_dot_product_attention(grouped, all_keys, all_values, attn_mask=self._mask)
        return attended.reshape(num_rows, -1)
