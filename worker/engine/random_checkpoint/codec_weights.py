"""Random weights of the speech tokenizer, by their published names."""

from __future__ import annotations

import math

import torch

from worker.engine.random_checkpoint.layers import attention_layers
from worker.engine.random_checkpoint.shapes import CODEBOOKS, ENCODER_CODEBOOKS, Codec, Shape, StackShape
from worker.engine.random_checkpoint.weights import Draws, Weights


def codec_weights(shape: Shape, draws: Draws) -> Weights:
    w = Weights(draws, torch.float32)
    decoder_quantizer_weights(w, shape)
    decoder_weights(w, shape.codec)
    encoder_weights(w, shape.codec)
    encoder_quantizer_weights(w, shape)
    return w


def decoder_quantizer_weights(w: Weights, shape: Shape) -> None:
    dim, vector = shape.codec.codebook_dim, shape.codec.codebook_dim // 2
    for part, layers in (("rvq_first", 1), ("rvq_rest", CODEBOOKS - 1)):
        prefix = f"decoder.quantizer.{part}"
        w.linear(f"{prefix}.input_proj", vector, dim, 1)
        w.linear(f"{prefix}.output_proj", dim, vector, 1, gain=1 / math.sqrt(2 * layers))
        for i in range(layers):
            w.codebook(f"{prefix}.vq.layers.{i}._codebook", "embedding_sum", shape.codebook_size, vector)


def decoder_weights(w: Weights, codec: Codec) -> None:
    stack, latent = codec.decoder, codec.latent_dim
    w.affine("decoder.pre_conv.conv", latent, codec.codebook_dim, 3)
    w.affine("decoder.pre_transformer.input_proj", stack.hidden, latent)
    attention_layers(w, "decoder.pre_transformer.layers", stack)
    layer_scales(w, "decoder.pre_transformer.layers", stack)
    w.norm("decoder.pre_transformer.norm", stack.hidden)
    w.affine("decoder.pre_transformer.output_proj", latent, stack.hidden)
    for prefix in ("decoder.upsample.0", "decoder.upsample.1"):
        w.transposed(f"{prefix}.0.conv", latent, latent, 2, 2)
        w.affine(f"{prefix}.1.dwconv.conv", latent, 1, 7)
        w.norm(f"{prefix}.1.norm", latent)
        w.bias(f"{prefix}.1.norm", latent)
        w.affine(f"{prefix}.1.pwconv1", 4 * latent, latent)
        w.affine(f"{prefix}.1.pwconv2", latent, 4 * latent)
        w.spread(f"{prefix}.1.gamma", latent, mean=0.5, std=0.1)
    w.affine("decoder.decoder.0.conv", codec.decoder_dim, latent, 7)
    for i, rate in enumerate((8, 5, 4, 3)):
        prefix, wide, narrow = f"decoder.decoder.{i + 1}.block", codec.decoder_dim >> i, codec.decoder_dim >> (i + 1)
        w.snake(f"{prefix}.0", wide)
        w.transposed(f"{prefix}.1.conv", wide, narrow, 2 * rate, rate)
        for j in (2, 3, 4):
            w.snake(f"{prefix}.{j}.act1", narrow)
            w.affine(f"{prefix}.{j}.conv1.conv", narrow, narrow, 7, gain=0.5)
            w.snake(f"{prefix}.{j}.act2", narrow)
            w.affine(f"{prefix}.{j}.conv2.conv", narrow, narrow, 1, gain=0.5)
    w.snake("decoder.decoder.5", codec.decoder_dim >> 4)
    w.affine("decoder.decoder.6.conv", 1, codec.decoder_dim >> 4, 7, gain=0.05)


def encoder_weights(w: Weights, codec: Codec) -> None:
    stack, filters, prefix = codec.encoder, codec.encoder_filters, "encoder.encoder.layers"
    w.affine(f"{prefix}.0.conv", filters, 1, 7, gain=4.0)
    for i, ratio in enumerate((4, 5, 6, 8)):
        dim, first = filters << i, 3 * i + 1
        w.affine(f"{prefix}.{first}.block.1.conv", dim // 2, dim, 3)
        w.affine(f"{prefix}.{first}.block.3.conv", dim, dim // 2, 1)
        w.affine(f"{prefix}.{first + 2}.conv", 2 * dim, dim, 2 * ratio)
    w.affine(f"{prefix}.14.conv", stack.hidden, filters << 4, 3)
    for layer in (f"encoder.encoder_transformer.layers.{i}" for i in range(stack.layers)):
        for projection in ("q_proj", "k_proj", "v_proj", "o_proj"):
            w.linear(f"{layer}.self_attn.{projection}", stack.hidden, stack.hidden)
        w.linear(f"{layer}.mlp.fc1", stack.inter, stack.hidden)
        w.linear(f"{layer}.mlp.fc2", stack.hidden, stack.inter)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            w.norm(f"{layer}.{norm}", stack.hidden)
            w.bias(f"{layer}.{norm}", stack.hidden)
    layer_scales(w, "encoder.encoder_transformer.layers", stack)
    w.linear("encoder.downsample.conv", stack.hidden, stack.hidden, 4)


def encoder_quantizer_weights(w: Weights, shape: Shape) -> None:
    hidden, vector = shape.codec.encoder.hidden, shape.codec.encoder_codebook_dim
    for part, layers in (("semantic", 1), ("acoustic", ENCODER_CODEBOOKS - 1)):
        prefix = f"encoder.quantizer.{part}_residual_vector_quantizer"
        w.linear(f"{prefix}.input_proj", vector, hidden, 1)
        w.linear(f"{prefix}.output_proj", hidden, vector, 1)
        for i in range(layers):
            w.codebook(f"{prefix}.layers.{i}.codebook", "embed_sum", shape.codebook_size, vector)
            w.tensors[f"{prefix}.layers.{i}.codebook.initialized"] = torch.ones(1)


def layer_scales(w: Weights, prefix: str, stack: StackShape) -> None:
    # Far above the published 0.01, so that a mistake inside a layer changes the output.
    for layer in (f"{prefix}.{i}" for i in range(stack.layers)):
        w.spread(f"{layer}.self_attn_layer_scale.scale", stack.hidden, mean=0.5, std=0.1)
        w.spread(f"{layer}.mlp_layer_scale.scale", stack.hidden, mean=0.5, std=0.1)
