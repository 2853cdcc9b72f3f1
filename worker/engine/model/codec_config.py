"""The speech tokenizer's dimensions, read from `speech_tokenizer/config.json`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from worker.engine.model.config import ConfigFields


@dataclass(frozen=True, slots=True)
class CodecTransformerConfig:
    """A stack of windowed attention layers; decoder and encoder each have one."""

    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    head_dim: int
    window: int
    """Keys that a query sees, itself included."""
    rope_theta: float
    norm_eps: float


@dataclass(frozen=True, slots=True)
class CodecDecoderConfig:
    transformer: CodecTransformerConfig
    codebook_size: int
    num_quantizers: int
    codebook_dim: int
    """Width behind the quantizer's output projection; a codebook entry is half as wide."""
    latent_dim: int
    upsampling_ratios: tuple[int, ...]
    """Of the ConvNeXt stages between transformer and blocks."""
    decoder_dim: int
    """Width before the first block; every block halves it."""
    upsample_rates: tuple[int, ...]
    """Of the blocks."""

    @property
    def samples_per_frame(self) -> int:
        return math.prod(self.upsampling_ratios) * math.prod(self.upsample_rates)


@dataclass(frozen=True, slots=True)
class CodecEncoderConfig:
    transformer: CodecTransformerConfig
    codebook_size: int
    codebook_dim: int
    num_quantizers: int
    """In the file; only the codec's `num_quantizers` of them are used."""
    num_filters: int
    strides: tuple[int, ...]
    """In the order in which they are applied."""
    kernel_size: int
    residual_kernel_size: int
    last_kernel_size: int
    residual_compression: int


@dataclass(frozen=True, slots=True)
class CodecConfig:
    """Facts about the speech tokenizer. `encoder` is None in a checkpoint that only speaks."""

    sample_rate_hz: int
    samples_per_frame: int
    num_quantizers: int
    codebook_size: int
    decoder: CodecDecoderConfig
    encoder: CodecEncoderConfig | None


def codec_config_from(fields: ConfigFields) -> CodecConfig:
    """Raises CheckpointError naming the field that is missing, mistyped, or asks for what the codec does not do."""
    fields.require(model_type="qwen3_tts_tokenizer_12hz")
    decoder = _decoder_config(fields.section("decoder_config"))
    encoder = _encoder_config(fields.section("encoder_config")) if fields.has("encoder_config") else None
    config = CodecConfig(
        sample_rate_hz=fields.integer("output_sample_rate"),
        samples_per_frame=fields.integer("decode_upsample_rate"),
        num_quantizers=decoder.num_quantizers,
        codebook_size=decoder.codebook_size,
        decoder=decoder,
        encoder=encoder,
    )
    fields.require(decode_upsample_rate=decoder.samples_per_frame)
    if encoder is not None:
        fields.require(input_sample_rate=config.sample_rate_hz, encode_downsample_rate=config.samples_per_frame)
        fields.require(encoder_valid_num_quantizers=config.num_quantizers)
        fields.section("encoder_config").require(codebook_size=config.codebook_size)
        # The last factor of two is the downsampling behind the transformer.
        if 2 * math.prod(encoder.strides) != config.samples_per_frame:
            raise fields.section("encoder_config").wrong("upsampling_ratios", f"do not make {config.samples_per_frame}")
        if encoder.num_quantizers < config.num_quantizers:
            raise fields.section("encoder_config").wrong("num_quantizers", f"is less than {config.num_quantizers}")
    return config


def _decoder_config(fields: ConfigFields) -> CodecDecoderConfig:
    fields.require(hidden_act="silu", attention_bias=False, num_semantic_quantizers=1)
    fields.require(num_key_value_heads=fields.integer("num_attention_heads"))
    return CodecDecoderConfig(
        transformer=_transformer_config(fields, norm_eps=fields.number("rms_norm_eps")),
        codebook_size=fields.integer("codebook_size"),
        num_quantizers=fields.integer("num_quantizers"),
        codebook_dim=fields.integer("codebook_dim"),
        latent_dim=fields.integer("latent_dim"),
        upsampling_ratios=fields.integers("upsampling_ratios"),
        decoder_dim=fields.integer("decoder_dim"),
        upsample_rates=fields.integers("upsample_rates"),
    )


def _encoder_config(fields: ConfigFields) -> CodecEncoderConfig:
    fields.require(hidden_act="gelu", pad_mode="constant", use_causal_conv=True, use_conv_shortcut=False)
    fields.require(audio_channels=1, num_residual_layers=1, num_semantic_quantizers=1)
    fields.require(num_key_value_heads=fields.integer("num_attention_heads"))
    fields.require(vector_quantization_hidden_dimension=fields.integer("codebook_dim"))
    return CodecEncoderConfig(
        transformer=_transformer_config(fields, norm_eps=fields.number("norm_eps")),
        codebook_size=fields.integer("codebook_size"),
        codebook_dim=fields.integer("codebook_dim"),
        num_quantizers=fields.integer("num_quantizers"),
        num_filters=fields.integer("num_filters"),
        strides=fields.integers("upsampling_ratios")[::-1],  # the file lists them as a decoder would apply them
        kernel_size=fields.integer("kernel_size"),
        residual_kernel_size=fields.integer("residual_kernel_size"),
        last_kernel_size=fields.integer("last_kernel_size"),
        residual_compression=fields.integer("compress"),
    )


def _transformer_config(fields: ConfigFields, norm_eps: float) -> CodecTransformerConfig:
    return CodecTransformerConfig(
        hidden_size=fields.integer("hidden_size"),
        intermediate_size=fields.integer("intermediate_size"),
        num_layers=fields.integer("num_hidden_layers"),
        num_heads=fields.integer("num_attention_heads"),
        head_dim=fields.integer("head_dim"),
        window=fields.integer("sliding_window"),
        rope_theta=fields.number("rope_theta"),
        norm_eps=norm_eps,
    )
