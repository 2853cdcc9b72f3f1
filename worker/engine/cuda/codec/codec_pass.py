"""One pass of the codec: the next frames of several streams into samples, as a fixed sequence of kernels.

Same arithmetic as `model.codec_decoder`, which it is tested against, with 16-bit operands and float32 sums. Nothing
here reads the device or depends on values, so that a pass can be captured into a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from worker.engine.cuda.codec.convolution import CausalConvolution
from worker.engine.cuda.codec.kernels.causal_conv import Activation, ConvWeights, Outputs
from worker.engine.cuda.codec.kernels.depthwise_norm import depthwise_norm
from worker.engine.cuda.codec.kernels.ends import embed_frames, last_conv
from worker.engine.cuda.codec.kernels.snake import SnakeTable
from worker.engine.cuda.codec.kernels.window_attention import (
    gated,
    norm,
    rotate_and_keep,
    scaled_add_norm,
    window_attention,
)
from worker.engine.cuda.codec.stream_state import HistoryMoves, Past, StateArena, carve
from worker.engine.cuda.codec.weights import (
    BlockWeights,
    CodecTransformerWeights,
    CodecWeights,
    TransformerLayerWeights,
    UnitWeights,
    UpsampleWeights,
)


@dataclass(frozen=True, slots=True)
class PassInputs:
    """On the device, int32. Row b: codes (B, T, Q), of which the first lengths[b] frames count.

    A row reads its state from slot read_slots[b] and writes its new state to write_slots[b].
    """

    codes: Tensor
    lengths: Tensor
    read_slots: Tensor
    write_slots: Tensor


def pasts_of(weights: CodecWeights) -> tuple[Past, ...]:
    """What each layer that looks back keeps, in the order in which a pass comes by them."""
    config = weights.transformer.config
    attention = Past(config.window - 1, 2 * config.num_heads * config.head_dim, 1)
    pasts = [_past(weights.before, 1), *[attention] * len(weights.transformer.layers)]
    rate = 1
    for stage in weights.upsamples:
        rate *= stage.widen.rows_per_row
        num_taps, width = stage.mix.taps.shape
        pasts.append(Past(num_taps - 1, width, rate))
    pasts.append(_past(weights.first, rate))
    for block in weights.blocks:
        pasts.append(_past(block.widen, rate))
        rate *= block.widen.rows_per_row
        pasts += [_past(unit.look_back, rate) for unit in block.units]
    num_taps, width = weights.last_taps.shape
    return (*pasts, Past(num_taps - 1, width, rate))


def samples_per_frame(weights: CodecWeights) -> int:
    return pasts_of(weights)[-1].rows_per_frame


class CodecPass:
    """Passes of one shape, over a workspace and an arena that passes of all shapes share."""

    def __init__(
        self,
        weights: CodecWeights,
        convolve: CausalConvolution,
        arena: StateArena,
        workspace: Tensor,
        num_streams: int,
        num_frames: int,
    ) -> None:
        pasts = pasts_of(weights)
        self._weights = weights
        self._convolve = convolve
        self._arena = arena
        self._workspace = workspace
        self._shape = (num_streams, num_frames)
        self._buffers = carve(workspace, pasts, num_streams, num_frames)
        self._moves = HistoryMoves(pasts, num_streams, num_frames, workspace.device)

    def run(self, inputs: PassInputs, samples: Tensor) -> None:
        """samples: out, float32 (B, T · samples_per_frame); those of a row are valid as far as its frames go."""
        weights = self._weights
        starts = torch.empty_like(inputs.lengths)
        self._moves.put_in(self._arena, self._workspace, inputs.read_slots, starts)

        buffers = iter(self._buffers)
        x = self._embedded(inputs.codes, next(buffers))
        x = self._transformed(x, starts, buffers)
        # What a layer writes goes straight behind the past of the next one, so each step is handed its output buffer.
        first_input = self._upsampled(x, buffers)
        block_input = next(buffers)
        self._convolve(
            first_input,
            weights.first,
            Outputs(active=self._new_rows(block_input, weights.blocks[0].widen), snake=weights.blocks[0].enter),
        )
        enters = [*(block.enter for block in weights.blocks[1:]), weights.leave]
        for block, enter in zip(weights.blocks, enters, strict=True):
            block_input = self._block(block, enter, block_input, buffers)
        last_conv(block_input, weights.last_taps, weights.last_bias, samples)

        self._moves.take_out(self._arena, self._workspace, inputs.write_slots, starts, inputs.lengths)

    def _embedded(self, codes: Tensor, buffer: Tensor) -> Tensor:
        """(B, T, latent)."""
        weights = self._weights
        embed_frames(codes, weights.frame_table, self._new_rows(buffer, weights.before))
        x = self._empty(1, weights.before.taps.shape[2])
        self._convolve(buffer, weights.before, Outputs(plain=x))
        return x

    def _transformed(self, x: Tensor, starts: Tensor, buffers: Iterator[Tensor]) -> Tensor:
        """(B, T, latent) to the same."""
        weights = self._weights.transformer
        config = weights.config
        rows = x.view(-1, x.shape[2])
        residual = F.linear(rows, weights.input, weights.input_bias).float()
        normed = torch.empty(residual.shape, dtype=x.dtype, device=x.device)
        norm(residual, weights.layers[0].attention_gain, config.norm_eps, normed)
        gains = [*(layer.attention_gain for layer in weights.layers[1:]), weights.norm_gain]
        for layer, next_gain in zip(weights.layers, gains, strict=True):
            attended = self._attended(normed, layer, weights, starts, next(buffers))
            scaled_add_norm(residual, attended, layer.attention_scale, layer.mlp_gain, config.norm_eps, normed)
            gate_up = F.linear(normed, layer.gate_up)
            hidden = torch.empty(gate_up.shape[0], config.intermediate_size, dtype=x.dtype, device=x.device)
            gated(gate_up, hidden)
            update = F.linear(hidden, layer.down)
            scaled_add_norm(residual, update, layer.mlp_scale, next_gain, config.norm_eps, normed)
        return F.linear(normed, weights.output, weights.output_bias).view(x.shape)

    def _attended(
        self,
        normed: Tensor,
        layer: TransformerLayerWeights,
        weights: CodecTransformerWeights,
        starts: Tensor,
        kept: Tensor,
    ) -> Tensor:
        qkv = F.linear(normed, layer.qkv)
        queries = torch.empty(qkv.shape[0], qkv.shape[1] // 3, dtype=qkv.dtype, device=qkv.device)
        rotate_and_keep(qkv, weights.frequencies, starts, queries, kept)
        attended = torch.empty_like(queries)
        window_attention(queries, kept, starts, weights.config.num_heads, attended)
        return F.linear(attended, layer.output)

    def _upsampled(self, x: Tensor, buffers: Iterator[Tensor]) -> Tensor:
        """(B, T, latent) to the input buffer of the first wide convolution."""
        weights = self._weights
        stage_inputs = [next(buffers) for _ in weights.upsamples]
        first_input = next(buffers)
        rate = 1
        for number, (stage, mixed) in enumerate(zip(weights.upsamples, stage_inputs, strict=True)):
            rate *= stage.widen.rows_per_row
            is_last = number == len(stage_inputs) - 1
            out = self._new_rows(first_input, weights.first) if is_last else self._empty(rate, x.shape[2])
            self._upsample(stage, x, mixed, out)
            x = out
        return first_input

    def _upsample(self, stage: UpsampleWeights, x: Tensor, mixed: Tensor, out: Tensor) -> None:
        past = stage.mix.taps.shape[0] - 1
        wide = mixed[:, past:]
        self._convolve(x, stage.widen, Outputs(plain=wide))
        normed = torch.empty(wide.shape, dtype=x.dtype, device=x.device)
        depthwise_norm(mixed, stage.mix, normed)
        hidden = torch.empty(*wide.shape[:2], stage.expand.taps.shape[2], dtype=x.dtype, device=x.device)
        self._convolve(normed, stage.expand, Outputs(plain=hidden), activation=Activation.GELU)
        self._convolve(hidden, stage.contract, Outputs(plain=out), residual=wide)

    def _block(self, block: BlockWeights, enter: SnakeTable, block_input: Tensor, buffers: Iterator[Tensor]) -> Tensor:
        """The next block's input buffer, filled. `enter` is that block's activation."""
        unit_inputs = [next(buffers) for _ in block.units]
        following = next(buffers)
        first = block.units[0]
        rows = unit_inputs[0].shape[1] - first.look_back.rows_back
        x = torch.empty(self._shape[0], rows, block.widen.channels, dtype=block_input.dtype, device=block_input.device)
        active = self._new_rows(unit_inputs[0], first.look_back)
        self._convolve(block_input, block.widen, Outputs(plain=x, active=active, snake=first.enter))
        for number, (unit, unit_input) in enumerate(zip(block.units, unit_inputs, strict=True)):
            if number == len(unit_inputs) - 1:
                outputs = Outputs(active=following[:, following.shape[1] - rows :], snake=enter)
            else:
                after = block.units[number + 1]
                target = self._new_rows(unit_inputs[number + 1], after.look_back)
                outputs = Outputs(plain=torch.empty_like(x), active=target, snake=after.enter)
            self._unit(unit, unit_input, x, outputs)
            x = x if outputs.plain is None else outputs.plain
        return following

    def _unit(self, unit: UnitWeights, unit_input: Tensor, x: Tensor, outputs: Outputs) -> None:
        between = torch.empty_like(x)
        self._convolve(unit_input, unit.look_back, Outputs(active=between, snake=unit.between))
        self._convolve(between, unit.mix, outputs, residual=x)

    def _empty(self, rate: int, width: int) -> Tensor:
        num_streams, num_frames = self._shape
        return torch.empty(
            num_streams, num_frames * rate, width, dtype=self._workspace.dtype, device=self._workspace.device
        )

    @staticmethod
    def _new_rows(buffer: Tensor, layer: ConvWeights) -> Tensor:
        """What stands behind the past in the buffer of a layer."""
        return buffer[:, layer.rows_back :]


def _past(layer: ConvWeights, rows_per_frame: int) -> Past:
    return Past(layer.rows_back, layer.taps.shape[1], rows_per_frame)
