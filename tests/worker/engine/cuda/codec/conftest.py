"""A codec decoder of a few thousand weights and eight samples a frame, so that the interpreter gets through it."""

from __future__ import annotations

import pytest
import torch

from worker.engine.model.codec_config import CodecDecoderConfig, CodecTransformerConfig
from worker.engine.model.codec_decoder import CodecDecoder

SMALL = CodecDecoderConfig(
    transformer=CodecTransformerConfig(
        hidden_size=32,
        intermediate_size=48,
        num_layers=2,
        num_heads=2,
        head_dim=16,
        window=6,
        rope_theta=10_000.0,
        norm_eps=1e-5,
    ),
    codebook_size=16,
    num_quantizers=4,
    codebook_dim=16,
    latent_dim=24,
    upsampling_ratios=(2,),
    decoder_dim=48,
    upsample_rates=(2, 2),
)


@pytest.fixture(scope="session")
def small_decoder() -> CodecDecoder:
    """Random weights in the published layout, on the CPU."""
    torch.manual_seed(11)
    with torch.device("meta"):
        published = CodecDecoder(SMALL).state_dict()
    return CodecDecoder.load(SMALL, {name: _drawn(name, meta.shape) for name, meta in published.items()}, "test")


def _drawn(name: str, shape: torch.Size) -> torch.Tensor:
    leaf = name.rpartition(".")[2]
    if leaf == "cluster_usage" or ("norm" in name and leaf == "weight"):
        return 1.0 + 0.1 * torch.randn(shape)
    if leaf in {"alpha", "beta", "bias"}:
        return 0.2 * torch.randn(shape)
    if leaf in {"scale", "gamma"}:
        return 0.5 + 0.1 * torch.randn(shape)
    # Quiet enough that no sample is clamped.
    gain = 0.05 if name == "decoder.4.conv.weight" else 1.0
    return gain * torch.randn(shape) / max(1, shape[1:].numel()) ** 0.5
