"""Write the trained weights as a model folder in the published layout, fp16.

python -m training.export --talker T.pt --decoder D.pt --speaker-encoder E.pt --tokenizer DIR --out MODEL
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from training.corpus.text_tokenizer import load_encoder, special_ids
from training.dimensions import (
    CODEC,
    SAMPLE_RATE_HZ,
    SAMPLES_PER_FRAME,
    SPEAKERS,
    TALKER,
    StackDimensions,
    control_id,
)
from training.steps import run_step, step_parser
from training.train_speaker_encoder import SPEAKER_ENCODER
from worker.engine.model.mel import NUM_BANDS

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Sampling:
    """The checkpoint's own choice: temperatures of codebook 0 and of the later ones; 0 takes the likeliest."""

    temperature: float = 0.0
    later_temperature: float = 0.0
    top_k: int = 20
    repetition_penalty: float = 1.0


_MAX_TEXT_CHARS = 280
"""The corpus stops at 285; a full stop that is set behind a text counts too."""

_DEFAULT = Sampling()


def main(argv: Sequence[str] | None = None) -> None:
    arguments = _parser().parse_args(argv)
    codec = arguments.out / "speech_tokenizer"
    codec.mkdir(parents=True, exist_ok=True)
    _write_weights(arguments.talker, arguments.decoder, arguments.speaker_encoder, arguments.out)
    _write_json(arguments.out / "config.json", _model_config(arguments.tokenizer))
    _write_json(codec / "config.json", _codec_config())
    write_sampling(
        arguments.out,
        Sampling(arguments.temperature, arguments.later_temperature, arguments.top_k, arguments.repetition_penalty),
    )
    _write_json(arguments.out / "preprocessor_config.json", _processor())
    _write_json(codec / "preprocessor_config.json", _feature_extractor())
    _write_json(codec / "configuration.json", {"framework": "pytorch", "task": "feature-extraction",
                                               "allow_remote": True})  # fmt: skip
    for name in ("vocab.json", "merges.txt", "tokenizer_config.json"):
        shutil.copyfile(arguments.tokenizer / name, arguments.out / name)


def _parser() -> argparse.ArgumentParser:
    parser = step_parser(__doc__)
    parser.add_argument("--talker", type=Path, required=True)
    parser.add_argument("--decoder", type=Path, required=True)
    parser.add_argument("--speaker-encoder", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--temperature", type=float, default=_DEFAULT.temperature)
    parser.add_argument("--later-temperature", type=float, default=_DEFAULT.later_temperature)
    parser.add_argument("--top-k", type=int, default=_DEFAULT.top_k)
    parser.add_argument("--repetition-penalty", type=float, default=_DEFAULT.repetition_penalty)
    return parser


def _write_weights(talker_path: Path, decoder_path: Path, encoder_path: Path, out: Path) -> None:
    talker = torch.load(talker_path, map_location="cpu")
    encoder = _speaker_encoder(torch.load(encoder_path, map_location="cpu"), talker)
    tensors = {f"talker.{name}": tensor for name, tensor in talker.items()}
    _save(tensors | {f"speaker_encoder.{n}": t for n, t in encoder.items()}, out / "model.safetensors")
    decoder = _published_decoder(torch.load(decoder_path, map_location="cpu"))
    _save(decoder, out / "speech_tokenizer" / "model.safetensors")


def write_sampling(model: Path, sampling: Sampling) -> None:
    """`generation_config.json` of an exported model."""
    _write_json(
        model / "generation_config.json",
        {
            "do_sample": sampling.temperature > 0,
            "repetition_penalty": sampling.repetition_penalty,
            "temperature": sampling.temperature or 1.0,
            "top_p": 1.0,
            "top_k": sampling.top_k,
            "subtalker_dosample": sampling.later_temperature > 0,
            "subtalker_temperature": sampling.later_temperature or 1.0,
            "subtalker_top_p": 1.0,
            "subtalker_top_k": sampling.top_k,
            "max_new_tokens": 1024,
            "max_text_chars": _MAX_TEXT_CHARS,
            # The corpus writes numbers out: digits are letters that the model has hardly seen.
            "text_front_end": "words",
            # Beside each other its sentences run together without a silence; alone each keeps the voice.
            "segmentation": "sentence",
        },
    )


def _save(tensors: dict[str, Tensor], path: Path) -> None:
    save_file({name: tensor.half().contiguous() for name, tensor in tensors.items()}, path, {"format": "pt"})


def _write_json(path: Path, content: Json) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _speaker_encoder(state: dict[str, Tensor], talker: dict[str, Tensor]) -> dict[str, Tensor]:
    """The trained number, 0 to 1, becomes a place on the line between the two speakers' rows."""
    first = control_id("first_speaker")
    low, high = talker["model.codec_embedding.weight"][first : first + 2].float()
    weight, bias = state["fc.weight"].float(), state["fc.bias"].float()
    way = high - low
    return state | {"fc.weight": way[:, None, None] * weight, "fc.bias": low + way * bias}


def _published_decoder(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Names of the published speech tokenizer; what it has and decoding does not use is there, too."""
    own = {"books", "first_proj.weight", "rest_proj.weight"}
    named = {_published_name(name): tensor for name, tensor in state.items() if name not in own}
    ones = torch.ones(CODEC.codebook_size)
    for part, books in (("first", state["books"][:1]), ("rest", state["books"][1:])):
        place = f"decoder.quantizer.rvq_{part}"
        projection = state[f"{part}_proj.weight"]
        named[f"{place}.output_proj.weight"] = projection
        named[f"{place}.input_proj.weight"] = projection.transpose(0, 1).contiguous()
        for number, book in enumerate(books):
            named[f"{place}.vq.layers.{number}._codebook.embedding_sum"] = book.clone()
            named[f"{place}.vq.layers.{number}._codebook.cluster_usage"] = ones.clone()
    return named


def _published_name(name: str) -> str:
    return f"decoder.{name}"


def _stack(d: StackDimensions) -> Json:
    return {
        "attention_bias": False,
        "attention_dropout": 0,
        "head_dim": d.head_dim,
        "hidden_act": "silu",
        "hidden_size": d.hidden_size,
        "initializer_range": 0.02,
        "intermediate_size": d.intermediate_size,
        "max_position_embeddings": 4096,
        "num_attention_heads": d.num_heads,
        "num_hidden_layers": d.num_layers,
        "num_key_value_heads": d.num_kv_heads,
        "rms_norm_eps": d.norm_eps,
        "rope_theta": d.rope_theta,
        "sliding_window": None,
        "use_cache": True,
        "use_sliding_window": False,
    }


def _model_config(tokenizer: Path) -> Json:
    ids = special_ids(tokenizer)
    return {
        "architectures": ["Qwen3TTSForConditionalGeneration"],
        "model_type": "qwen3_tts",
        "tokenizer_type": "qwen3_tts_tokenizer_12hz",
        "tts_model_size": "0b6",
        "tts_model_type": "custom_voice",
        "assistant_token_id": load_encoder(tokenizer).encode("assistant").ids[0],
        "im_start_token_id": ids["<|im_start|>"],
        "im_end_token_id": ids["<|im_end|>"],
        "tts_pad_token_id": ids["<tts_pad>"],
        "tts_bos_token_id": ids["<tts_text_bos>"],
        "tts_eos_token_id": ids["<tts_text_eod>"],
        "talker_config": _talker_config(),
        "speaker_encoder_config": _speaker_encoder_config(),
    }


def _speaker_encoder_config() -> Json:
    c = SPEAKER_ENCODER
    return {
        "enc_dim": c.embedding_dim,
        "sample_rate": SAMPLE_RATE_HZ,
        "mel_dim": NUM_BANDS,
        "enc_channels": list(c.channels),
        "enc_kernel_sizes": list(c.kernel_sizes),
        "enc_dilations": list(c.dilations),
        "enc_attention_channels": c.attention_channels,
        "enc_res2net_scale": c.res2net_scale,
        "enc_se_channels": c.se_channels,
    }


def _talker_config() -> Json:
    # Three axes of the position that are always equal: any split of the head works.
    third = TALKER.stack.head_dim // 6
    first_speaker = control_id("first_speaker")
    return {
        **_stack(TALKER.stack),
        "model_type": "qwen3_tts_talker",
        "vocab_size": TALKER.vocab_size,
        "text_vocab_size": TALKER.text_vocab_size,
        "text_hidden_size": TALKER.text_hidden_size,
        "num_code_groups": TALKER.num_codebooks,
        "position_id_per_seconds": 13,
        "rope_scaling": {
            "interleaved": True,
            "mrope_section": [TALKER.stack.head_dim // 2 - 2 * third, third, third],
            "rope_type": "default",
            "type": "default",
        },
        "codec_pad_id": control_id("pad"),
        "codec_bos_id": control_id("bos"),
        "codec_eos_token_id": control_id("eos"),
        "codec_think_id": control_id("think"),
        "codec_nothink_id": control_id("nothink"),
        "codec_think_bos_id": control_id("think_bos"),
        "codec_think_eos_id": control_id("think_eos"),
        "codec_language_id": {"english": control_id("english")},
        "spk_id": {name: first_speaker + number for number, name in enumerate(SPEAKERS)},
        "spk_is_dialect": dict.fromkeys(SPEAKERS, False),
        "code_predictor_config": {
            **_stack(TALKER.predictor),
            "model_type": "qwen3_tts_talker_code_predictor",
            "vocab_size": TALKER.codebook_size,
            "num_code_groups": TALKER.num_codebooks,
            "rope_scaling": None,
            "layer_types": ["full_attention"] * TALKER.predictor.num_layers,
        },
    }


def _codec_config() -> Json:
    c = CODEC
    return {
        "architectures": ["Qwen3TTSTokenizerV2Model"],
        "model_type": "qwen3_tts_tokenizer_12hz",
        "encoder_valid_num_quantizers": c.num_quantizers,
        "input_sample_rate": SAMPLE_RATE_HZ,
        "output_sample_rate": SAMPLE_RATE_HZ,
        "decode_upsample_rate": SAMPLES_PER_FRAME,
        "encode_downsample_rate": SAMPLES_PER_FRAME,
        "decoder_config": {
            "attention_bias": False,
            "attention_dropout": 0.0,
            "codebook_dim": c.codebook_dim,
            "codebook_size": c.codebook_size,
            "decoder_dim": c.decoder_dim,
            "head_dim": c.head_dim,
            "hidden_act": "silu",
            "hidden_size": c.hidden_size,
            "intermediate_size": c.intermediate_size,
            "latent_dim": c.latent_dim,
            "layer_scale_initial_scale": c.layer_scale,
            "max_position_embeddings": 8000,
            "num_attention_heads": c.num_heads,
            "num_hidden_layers": c.num_layers,
            "num_key_value_heads": c.num_heads,
            "num_quantizers": c.num_quantizers,
            "num_semantic_quantizers": 1,
            "rms_norm_eps": c.norm_eps,
            "rope_theta": c.rope_theta,
            "sliding_window": c.sliding_window,
            "upsample_rates": list(c.upsample_rates),
            "upsampling_ratios": list(c.upsampling_ratios),
        },
    }


def _processor() -> Json:
    return {
        "padding_side": "left",
        "padding_value": 0.0,
        "processor_class": "Qwen3TTSProcessor",
        "return_attention_mask": True,
    }


def _feature_extractor() -> Json:
    return {
        "chunk_length_s": None,
        "feature_extractor_type": "EncodecFeatureExtractor",
        "feature_size": 1,
        "overlap": None,
        "padding_side": "right",
        "padding_value": 0.0,
        "return_attention_mask": True,
        "sampling_rate": SAMPLE_RATE_HZ,
    }


if __name__ == "__main__":
    run_step(main)
