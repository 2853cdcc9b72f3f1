"""What a frame is computed with: the operations between the weights and the slots' state.

The kernels (Triton) implement it. `PlainOperations` of the tests gives the same numbers up to rounding on any device.
All return new tensors.

N tokens, B rows of a step, S slot rows with the scratch slot, H query heads, KV key heads, d head width, Q codebooks,
V entries of each. Keys and values of one talker layer are (S, KV, capacity, d), of one predictor layer (B, KV, Q, d).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from worker.engine.cuda.float8 import Float8Rows
from worker.engine.cuda.slot_state import FrameTables, SlotState
from worker.engine.cuda.talker.decode.weights import Heads, LayerWeights, RotaryFactors, TalkerTransformerWeights

Attend = Callable[[int, Tensor], Tensor]
"""(layer, qkv of all tokens) -> attended values (N, H · d); keeps keys and values."""


@dataclass(frozen=True, slots=True)
class TransformerStream:
    """The residual stream behind the last layer, (N, hidden), and what is still to be added to it: the next norm can.

    An update may be in parts, (parts, N, hidden). None: there is nothing to add.
    """

    residual: Tensor
    update: Tensor | None

    def rows_from(self, first: int) -> TransformerStream:
        return TransformerStream(self.residual[first:], None if self.update is None else self.update[..., first:, :])


class RowOperations(Protocol):
    """What rows go through one by one."""

    def add_rms_norm(self, update: Tensor | None, residual: Tensor, weight: Tensor, eps: float) -> Tensor:
        """Adds `update` to `residual` in place and gives the norm of the sum: (N, hidden) all."""
        ...

    def linear(self, x: Tensor, weight: Tensor) -> Tensor:
        """(N, in) by (out, in) -> (N, out)."""
        ...

    def logits(self, x: Tensor, weight: Tensor) -> Tensor:
        """As `linear`, float32 whatever the weights are."""
        ...

    def silu_multiply(self, gate_up: Tensor) -> Tensor:
        """(N, 2 · I), gates first -> (N, I)."""
        ...

    def add_rms_norm_float8(self, update: Tensor | None, residual: Tensor, weight: Tensor, eps: float) -> Float8Rows:
        """As `add_rms_norm`, each row of what it gives in eight bits with its own scale."""
        ...

    def silu_multiply_float8(self, gate_up: Tensor) -> Float8Rows:
        """As `silu_multiply`, likewise."""
        ...

    def linear_float8(self, x: Float8Rows, weight: Float8Rows, dtype: torch.dtype) -> Tensor:
        """(N, in) by (out, in) -> (N, out) in `dtype`; both widths are multiples of 16."""
        ...


class Operations(RowOperations, Protocol):
    def begin_rows(self, slots: Tensor, state: SlotState) -> tuple[Tensor, Tensor]:
        """slots int32 (B,) -> the rows' inputs (B, hidden) and positions int32 (B,)."""
        ...

    def run_transformer(self, weights: TalkerTransformerWeights, inputs: Tensor, attend: Attend) -> TransformerStream:
        """All layers. The inputs (N, hidden) become the residual stream and are lost."""
        ...

    def norm_logits(self, stream: TransformerStream, weights: TalkerTransformerWeights, head: Tensor) -> Tensor:
        """The last norm and the head (L, hidden) -> float32 (N, L). The stream is used up."""
        ...

    def rotate_and_store(
        self,
        qkv: Tensor,
        heads: Heads,
        rotary: RotaryFactors,
        slots: Tensor,
        positions: Tensor,
        keys: Tensor,
        values: Tensor,
    ) -> Tensor:
        """Norms and rotates, keeps keys and values of token n at `positions[n]` of `slots[n]`.

        qkv (N, (H + 2 KV) · d), slots and positions int32 (N,) -> queries (N, H · d).
        """
        ...

    def decode_attention(
        self,
        qkv: Tensor,
        heads: Heads,
        rotary: RotaryFactors,
        slots: Tensor,
        positions: Tensor,
        keys: Tensor,
        values: Tensor,
    ) -> Tensor:
        """`rotate_and_store` of one token per row, and its attention over positions 0 to its own -> (B, H · d)."""
        ...

    def prompt_attention(
        self, queries: Tensor, keys: Tensor, values: Tensor, slots: Tensor, starts: Tensor, max_length: int
    ) -> Tensor:
        """Causal attention inside each of n prompts, whose keys are stored already.

        Prompt i is tokens `starts[i]` to `starts[i + 1]` (int32 (n + 1,)) and lives in `slots[i]`. Tokens behind the
        last prompt get anything finite. (N, H · d) -> (N, H · d).
        """
        ...

    def attend_first_pair(
        self, qkv: Tensor, heads: Heads, rotary: RotaryFactors, keys: Tensor, values: Tensor
    ) -> Tensor:
        """Norm, rotation, storing and causal attention of positions 0 and 1 of every row.

        qkv (2 B, (H + 2 KV) · d), position 0 of all rows first -> (2 B, H · d).
        """
        ...

    def attend_position(
        self, qkv: Tensor, heads: Heads, rotary: RotaryFactors, keys: Tensor, values: Tensor, position: int
    ) -> Tensor:
        """The same for one later position: qkv (B, (H + 2 KV) · d) -> (B, H · d)."""
        ...

    def gather_codes(self, codes: Tensor, codebook: int, table: Tensor) -> Tensor:
        """Rows of `table` (V, width) by column `codebook` of codes int32 (B, Q), a lane beyond V as V - 1."""
        ...

    def draw_first(self, logits: Tensor, slots: Tensor, state: SlotState, codes: Tensor, finite: Tensor) -> None:
        """Draws codebook 0 into column 0 of codes and finite, both (B, Q), and notes it as present.

        logits float32 (B, V + 1), which may be a view with longer rows. Lane V is the end of speech.
        """
        ...

    def draw_residual(
        self, logits: Tensor, codebook: int, slots: Tensor, state: SlotState, codes: Tensor, finite: Tensor
    ) -> None:
        """Draws one residual codebook into its column of codes int32 and finite int8. logits float32 (B, V)."""
        ...

    def finish_frame(
        self, codes: Tensor, finite: Tensor, slots: Tensor, state: SlotState, tables: FrameTables
    ) -> Tensor:
        """Moves the slots to their next frame -> int16 (B, Q + 1): the codes, then the status.

        A slot whose status is not RUNNING stays as it is.
        """
        ...


def run_many_rows(
    weights: TalkerTransformerWeights, inputs: Tensor, attend: Attend, operations: RowOperations
) -> TransformerStream:
    """Inputs (N, hidden) become the residual stream and are lost."""
    residual, update = inputs, None
    for index, layer in enumerate(weights.layers):
        normed = operations.add_rms_norm(update, residual, layer.input_norm, weights.eps)
        attended = attend(index, operations.linear(normed, layer.qkv))
        update = operations.linear(attended, layer.output)
        update = _mlp(layer, update, residual, weights.eps, operations)
    return TransformerStream(residual, update)


def _mlp(layer: LayerWeights, update: Tensor, residual: Tensor, eps: float, operations: RowOperations) -> Tensor:
    """Adds `update` to `residual` in place and gives the next one, in the numbers that the layer's weights have."""
    if layer.float8_mlp is None:
        normed = operations.add_rms_norm(update, residual, layer.post_norm, eps)
        return operations.linear(operations.silu_multiply(operations.linear(normed, layer.gate_up)), layer.down)
    rows = operations.add_rms_norm_float8(update, residual, layer.post_norm, eps)
    gate_up = operations.linear_float8(rows, layer.float8_mlp.gate_up, residual.dtype)
    return operations.linear_float8(operations.silu_multiply_float8(gate_up), layer.float8_mlp.down, residual.dtype)
