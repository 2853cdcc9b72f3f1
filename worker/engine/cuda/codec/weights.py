"""The codec decoder's published weights, folded for the kernels of this package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from worker.engine.cuda.codec.kernels.causal_conv import ConvWeights
from worker.engine.cuda.codec.kernels.depthwise_norm import DepthwiseNormWeights
from worker.engine.cuda.codec.kernels.snake import SnakeTable
from worker.engine.model.codec_config import CodecTransformerConfig
from worker.engine.model.codec_decoder import CodecDecoder, CodecDecoderBlock, ConvNeXt, ResidualUnit
from worker.engine.model.codec_layers import CausalConv, CausalTransposedConv, PointwiseConv, SnakeBeta
from worker.engine.model.codec_transformer import CodecTransformer, CodecTransformerLayer


@dataclass(frozen=True, slots=True)
class Placement:
    """Where weights live, and in which dtype the products are; vectors and tables are float32 in any case."""

    device: torch.device
    dtype: torch.dtype

    def matrix(self, tensor: Tensor) -> Tensor:
        return tensor.detach().to(self.device, self.dtype).contiguous()

    def vector(self, tensor: Tensor) -> Tensor:
        return tensor.detach().to(self.device, torch.float32).contiguous()


@dataclass(frozen=True, slots=True)
class TransformerLayerWeights:
    """Matrices as in `F.linear`: qkv (3 heads d, C), output (C, heads d), gate_up (2 I, C), down (C, I)."""

    attention_gain: Tensor
    qkv: Tensor
    output: Tensor
    attention_scale: Tensor
    mlp_gain: Tensor
    gate_up: Tensor
    down: Tensor
    mlp_scale: Tensor


@dataclass(frozen=True, slots=True)
class CodecTransformerWeights:
    config: CodecTransformerConfig
    frequencies: Tensor
    input: Tensor
    input_bias: Tensor
    layers: tuple[TransformerLayerWeights, ...]
    norm_gain: Tensor
    output: Tensor
    output_bias: Tensor


@dataclass(frozen=True, slots=True)
class UpsampleWeights:
    widen: ConvWeights
    mix: DepthwiseNormWeights
    expand: ConvWeights
    contract: ConvWeights


@dataclass(frozen=True, slots=True)
class UnitWeights:
    enter: SnakeTable
    look_back: ConvWeights
    between: SnakeTable
    mix: ConvWeights


@dataclass(frozen=True, slots=True)
class BlockWeights:
    enter: SnakeTable
    widen: ConvWeights
    units: tuple[UnitWeights, ...]


@dataclass(frozen=True, slots=True)
class CodecWeights:
    """frame_table: float32 (Q, size, C), what each code adds to the first activations."""

    frame_table: Tensor
    before: ConvWeights
    transformer: CodecTransformerWeights
    upsamples: tuple[UpsampleWeights, ...]
    first: ConvWeights
    blocks: tuple[BlockWeights, ...]
    leave: SnakeTable
    last_taps: Tensor
    last_bias: Tensor

    @classmethod
    @torch.inference_mode()
    def of(cls, decoder: CodecDecoder, place: Placement) -> CodecWeights:
        """From a codec decoder as `CodecDecoder.load` returns it, whichever device that is on."""
        first, *blocks, leave, last = decoder.decoder
        last = cast("CausalConv", last)
        return cls(
            frame_table=place.vector(decoder.quantizer.projected_entries()),
            before=_conv(decoder.pre_conv, place),
            transformer=_transformer(decoder.pre_transformer, place),
            upsamples=tuple(_upsample(cast("nn.ModuleList", stage), place) for stage in decoder.upsample),
            first=_conv(cast("CausalConv", first), place),
            blocks=tuple(_block(cast("CodecDecoderBlock", block), place) for block in blocks),
            leave=SnakeTable.of(cast("SnakeBeta", leave), place.device),
            last_taps=place.vector(last.kernel[0, :, 0].T),
            last_bias=place.vector(last.bias),
        )


def _conv(layer: CausalConv, place: Placement) -> ConvWeights:
    # (outputs, inputs, 1, k) to (k, inputs, outputs).
    taps = place.matrix(layer.kernel[:, :, 0].permute(2, 1, 0))
    return ConvWeights(taps, place.vector(layer.bias), layer.dilation, channels=taps.shape[2])


def _transposed(layer: CausalTransposedConv, place: Placement) -> ConvWeights:
    taps = place.matrix(layer.taps.flip(0))  # stored newest first
    return ConvWeights(taps, place.vector(layer.bias), dilation=1, channels=taps.shape[2] // layer.stride)


def _linear(weight: Tensor, bias: Tensor, place: Placement) -> ConvWeights:
    """A map of each row by itself: weight (outputs, inputs)."""
    return ConvWeights(place.matrix(weight.T[None]), place.vector(bias), dilation=1, channels=weight.shape[0])


def _pointwise(layer: PointwiseConv, place: Placement) -> ConvWeights:
    return _linear(layer.weight, layer.bias, place)


def _transformer(transformer: CodecTransformer, place: Placement) -> CodecTransformerWeights:
    config = transformer.config
    half = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
    layers = (cast("CodecTransformerLayer", layer) for layer in transformer.layers)
    return CodecTransformerWeights(
        config=config,
        frequencies=place.vector(1.0 / config.rope_theta**half),
        input=place.matrix(transformer.input_proj.weight),
        input_bias=place.matrix(transformer.input_proj.bias),
        layers=tuple(_transformer_layer(layer, place) for layer in layers),
        norm_gain=place.vector(transformer.norm.weight),
        output=place.matrix(transformer.output_proj.weight),
        output_bias=place.matrix(transformer.output_proj.bias),
    )


def _transformer_layer(layer: CodecTransformerLayer, place: Placement) -> TransformerLayerWeights:
    attention, mlp = layer.self_attn, layer.mlp
    return TransformerLayerWeights(
        attention_gain=place.vector(layer.input_layernorm.weight),
        qkv=place.matrix(torch.cat((attention.q_proj.weight, attention.k_proj.weight, attention.v_proj.weight))),
        output=place.matrix(attention.o_proj.weight),
        attention_scale=place.vector(layer.self_attn_layer_scale.scale),
        mlp_gain=place.vector(layer.post_attention_layernorm.weight),
        gate_up=place.matrix(torch.cat((mlp.gate_proj.weight, mlp.up_proj.weight))),
        down=place.matrix(mlp.down_proj.weight),
        mlp_scale=place.vector(layer.mlp_layer_scale.scale),
    )


def _upsample(stage: nn.ModuleList, place: Placement) -> UpsampleWeights:
    widen, mix = cast("CausalTransposedConv", stage[0]), cast("ConvNeXt", stage[1])
    return UpsampleWeights(
        widen=_transposed(widen, place),
        mix=DepthwiseNormWeights(
            taps=place.vector(mix.dwconv.kernel[:, 0, 0].T),
            bias=place.vector(mix.dwconv.bias),
            gain=place.vector(mix.norm.weight),
            shift=place.vector(mix.norm.bias),
            eps=mix.norm.eps,
        ),
        expand=_linear(mix.pwconv1.weight, mix.pwconv1.bias, place),
        # The gain of the residual branch is taken into the product.
        contract=_linear(mix.pwconv2.weight * mix.gamma[:, None], mix.pwconv2.bias * mix.gamma, place),
    )


def _block(block: CodecDecoderBlock, place: Placement) -> BlockWeights:
    activation, widen, *units = block.block
    return BlockWeights(
        enter=SnakeTable.of(cast("SnakeBeta", activation), place.device),
        widen=_transposed(cast("CausalTransposedConv", widen), place),
        units=tuple(_unit(cast("ResidualUnit", unit), place) for unit in units),
    )


def _unit(unit: ResidualUnit, place: Placement) -> UnitWeights:
    return UnitWeights(
        enter=SnakeTable.of(unit.act1, place.device),
        look_back=_conv(unit.conv1, place),
        between=SnakeTable.of(unit.act2, place.device),
        mix=_pointwise(unit.conv2, place),
    )
