"""Everything the device knows about the requests in the batch: one slot each, addressed through an index tensor.

A slot stays where it is from admission to the end of its request. Who takes part in a step is a list of slots, so
rows are packed by rewriting that list and no state ever moves. The last slot of every tensor is the scratch slot: it
has ended from the start, so whatever padding rows do to it, it stays at position 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from worker.engine.requests.request_state import RowEnd


@dataclass(frozen=True, slots=True)
class SlotSampling:
    """One draw's parameters by slot, with the meaning of `sampling.RowSampling`: all (S,).

    inverse_temperature, noise_scale, top_p: float32; top_k: int32. A slot that takes the most likely entry has scale 0,
    temperature 1 and no filters.
    """

    inverse_temperature: Tensor
    noise_scale: Tensor
    top_k: Tensor
    top_p: Tensor

    @classmethod
    def allocate(cls, num_rows: int, vocab_size: int, device: torch.device) -> SlotSampling:
        return cls(
            inverse_temperature=torch.ones(num_rows, dtype=torch.float32, device=device),
            noise_scale=torch.zeros(num_rows, dtype=torch.float32, device=device),
            top_k=torch.full((num_rows,), vocab_size, dtype=torch.int32, device=device),
            top_p=torch.ones(num_rows, dtype=torch.float32, device=device),
        )


@dataclass(frozen=True, slots=True)
class SlotState:
    """S = slots + 1 rows each; V entries of a codebook.

    position: where the next input's key and value go; frame: the frame being made; max_frames; status: a `RowEnd`,
    and once it is not RUNNING the slot stands still; trailing_length: all int32 (S,). seed: int64 (S,).
    present: int8 (S, V + 1), the lanes of codebook 0 drawn so far. penalty: float32 (S,).
    next_input: (S, hidden) in the model's dtype. trailing_ids: int32 (S, capacity), text ids added to the inputs made
    of frames 0, 1, …; the one at `trailing_length` is PAD and stays for all later frames.
    """

    position: Tensor
    frame: Tensor
    max_frames: Tensor
    status: Tensor
    trailing_length: Tensor
    seed: Tensor
    present: Tensor
    penalty: Tensor
    talker: SlotSampling
    predictor: SlotSampling
    next_input: Tensor
    trailing_ids: Tensor

    @classmethod
    def allocate(
        cls,
        num_slots: int,
        capacity: int,
        codebook_size: int,
        hidden_size: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> SlotState:
        """All slots free, which is: ended."""
        rows = num_slots + 1
        return cls(
            position=_integers(rows, device),
            frame=_integers(rows, device),
            max_frames=_integers(rows, device),
            status=torch.full((rows,), int(RowEnd.EOS), dtype=torch.int32, device=device),
            trailing_length=_integers(rows, device),
            seed=torch.zeros(rows, dtype=torch.int64, device=device),
            present=torch.zeros(rows, codebook_size + 1, dtype=torch.int8, device=device),
            penalty=torch.ones(rows, dtype=torch.float32, device=device),
            talker=SlotSampling.allocate(rows, codebook_size + 1, device),
            predictor=SlotSampling.allocate(rows, codebook_size, device),
            next_input=torch.zeros(rows, hidden_size, dtype=dtype, device=device),
            trailing_ids=torch.zeros(rows, capacity, dtype=torch.int32, device=device),
        )

    @property
    def num_slots(self) -> int:
        """Without the scratch slot, whose index this is."""
        return self.position.shape[0] - 1


@dataclass(frozen=True, slots=True)
class FrameTables:
    """What a frame's codes become as the talker's next input.

    first: (V, hidden), codebook 0; residual: (Q - 1, V, hidden); text: (text vocabulary, hidden), already projected.
    """

    first: Tensor
    residual: Tensor
    text: Tensor


def _integers(rows: int, device: torch.device) -> Tensor:
    return torch.zeros(rows, dtype=torch.int32, device=device)
