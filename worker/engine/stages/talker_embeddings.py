"""What stands before and behind the talker's layers: rows of embeddings going in, logits of codebook 0 coming out.

The logits have one lane per entry of codebook 0 and one, the last, for the end of speech. Upstream computes the
whole codec vocabulary and suppresses the control ids; leaving their rows out of the head gives the same draw.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from worker.engine.model.config import ModelConfig
from worker.engine.model.talker import Talker
from worker.engine.requests.prompt import NO_ID, Ids, PromptLayout
from worker.engine.requests.request_state import RequestState


class TalkerEnds:
    """Read-only once made."""

    def __init__(self, config: ModelConfig, talker: Talker, residual_embeddings: Tensor) -> None:
        """residual_embeddings: the code predictor's tables, (Q - 1, codebook_size, hidden)."""
        head = talker.codec_head.weight
        codebook_size, eos = config.predictor.codebook_size, config.talker.control.eos
        self._talker = talker
        self.device = head.device
        self._head = torch.cat((head[:codebook_size], head[eos : eos + 1])).contiguous()
        self._residual_tables = residual_embeddings.flatten(0, 1)
        self._residual_offsets = torch.arange(residual_embeddings.shape[0], device=head.device) * codebook_size
        self.dtype, self.hidden_size = head.dtype, head.shape[1]
        self._pad_id = torch.tensor([config.text_control.tts_pad], device=head.device)

    def prompt_rows(self, layout: PromptLayout) -> Tensor:
        """Input embeddings of the whole prompt: (P, hidden)."""
        rows = torch.zeros(layout.num_rows, self.hidden_size, dtype=self.dtype, device=self.device)
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

    def input_rows(self, request: RequestState, trailing: Tensor) -> Tensor:
        """All that is read before the first frame to be made, the prompt and the prefix's frames: (P, hidden).

        trailing: the `trailing_rows` of the prompt.
        """
        prompt = self.prompt_rows(request.prompt)
        if request.prefix is None:
            return prompt
        beside = torch.arange(request.num_prefix, device=self.device).clamp_max(trailing.shape[0] - 1)
        return torch.cat((prompt, self.frame_rows(self._on_device(request.prefix.astype("int64"))) + trailing[beside]))

    def trailing_rows(self, layout: PromptLayout) -> Tensor:
        """The text side of the inputs made of frames 0 to n - 1, and PAD for all that follow: (n + 1, hidden)."""
        return self._talker.text_rows(torch.cat((self._on_device(layout.trailing_text_ids), self._pad_id)))

    def frame_rows(self, codes: Tensor) -> Tensor:
        """Sum of the embeddings of all codebooks: int64 (N, Q) -> (N, hidden)."""
        residual = F.embedding(codes[:, 1:] + self._residual_offsets, self._residual_tables)
        # One sum over all codebooks, as upstream rounds it.
        return torch.cat((self._talker.codec_rows(codes[:, :1]), residual), dim=1).sum(dim=1)

    def logits(self, hidden: Tensor) -> Tensor:
        """(B, hidden) -> float32 (B, codebook_size + 1); the last lane ends the speech."""
        return F.linear(hidden, self._head).float()

    def _on_device(self, ids: Ids) -> Tensor:
        return torch.from_numpy(ids).to(self.device)
