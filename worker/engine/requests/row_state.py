"""What the device knows about each request whose frames are being made, apart from the talker's own state."""

from __future__ import annotations

import torch
from torch import Tensor

from worker.engine.interface import CodecFrames
from worker.engine.model.config import ModelConfig
from worker.engine.requests.request_state import RequestState
from worker.engine.requests.sampling import RowSampling


class FrameRows:
    """One row for each request, allocated once.

    frame (the one being made), max_frames, seed, trailing_length: int64 (rows,); present: bool (rows, lanes), the
    lanes of codebook 0 drawn so far; codes: int16 (rows, capacity, Q); trailing (rows, capacity, hidden) holds the
    text rows still to be added, of which row `trailing_length` is PAD.
    """

    def __init__(
        self, config: ModelConfig, num_rows: int, capacity: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        codebook_size, hidden_size = config.predictor.codebook_size, config.talker.transformer.hidden_size
        num_codebooks = config.talker.num_codebooks
        self.frame = torch.zeros(num_rows, dtype=torch.int64, device=device)
        self.max_frames = torch.zeros_like(self.frame)
        self.seed = torch.zeros_like(self.frame)
        self.trailing_length = torch.zeros_like(self.frame)
        self.present = torch.zeros(num_rows, codebook_size + 1, dtype=torch.bool, device=device)
        self.penalty = torch.ones(num_rows, 1, dtype=torch.float32, device=device)
        self.codes = torch.zeros(num_rows, capacity, num_codebooks, dtype=torch.int16, device=device)
        self.trailing = torch.zeros(num_rows, capacity, hidden_size, dtype=dtype, device=device)
        self.talker_sampling = RowSampling(num_rows, codebook_size + 1, device)
        self.predictor_sampling = RowSampling(num_rows, codebook_size, device)
        self._capacity = capacity
        self._flat_present = self.present.view(-1)
        self._flat_codes = self.codes.view(-1, num_codebooks)
        self._flat_trailing = self.trailing.view(-1, hidden_size)

    def set(self, row: int, request: RequestState, trailing: Tensor) -> None:
        """Before the request's first frame. trailing (n + 1, hidden)."""
        self.frame[row] = request.num_prefix
        self.max_frames[row] = request.max_frames
        self.seed[row] = request.seed
        self.present[row] = False
        if request.prefix is not None:
            prefix = torch.from_numpy(request.prefix).to(self.codes.device)
            self.codes[row, : len(prefix)] = prefix
            self.present[row, prefix[:, 0].long()] = True
        self.penalty[row] = request.sampling.repetition_penalty
        self.trailing[row, : trailing.shape[0]] = trailing
        self.trailing_length[row] = trailing.shape[0] - 1
        self.talker_sampling.set(row, request.sampling.talker)
        self.predictor_sampling.set(row, request.sampling.predictor)

    def extend(self, row: int, start: int, trailing: Tensor, max_frames: int) -> None:
        """More text: trailing (n + 1, hidden) stands beside frame `start` and those after it, the last row is PAD."""
        self.trailing[row, start : start + trailing.shape[0]] = trailing
        self.trailing_length[row] = start + trailing.shape[0] - 1
        self.max_frames[row] = max_frames

    def move(self, source: int, target: int) -> None:
        for tensor in (
            self.frame,
            self.max_frames,
            self.seed,
            self.trailing_length,
            self.present,
            self.penalty,
            self.codes,
            self.trailing,
        ):
            tensor[target] = tensor[source]
        self.talker_sampling.move(source, target)
        self.predictor_sampling.move(source, target)

    def frames(self, row: int, num_frames: int) -> CodecFrames:
        """A copy of the row's first frames, (num_frames, Q)."""
        return self.codes[row, :num_frames].cpu().numpy().copy()

    def text_rows(self, rows: Tensor, frames: Tensor) -> Tensor:
        """The text side of the inputs made of `frames`: both int64 (N,) -> (N, hidden)."""
        index = torch.minimum(frames, self.trailing_length[rows])
        return self._flat_trailing.index_select(0, rows * self._capacity + index)

    def codes_of(self, rows: Tensor, frames: Tensor) -> Tensor:
        """Frames made before: both int64 (N,) -> int64 (N, Q)."""
        return self._flat_codes.index_select(0, rows * self._capacity + frames).long()

    def keep_frame(self, rows: Tensor, frames: Tensor, codes: Tensor, counts: Tensor) -> None:
        """codes: int64 (B, Q), of the frame that each row is making: rows, frames int64 (B,).

        counts: bool (B,), whether the row makes one; the place of the others is written again.
        """
        self._flat_codes.index_copy_(0, rows * self._capacity + frames, codes.to(torch.int16))
        lanes = rows * self.present.shape[1] + codes[:, 0]
        self._flat_present.index_copy_(0, lanes, self._flat_present.index_select(0, lanes) | counts)
