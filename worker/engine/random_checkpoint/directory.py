"""A checkpoint with random weights in the published layout of Qwen3-TTS 12 Hz.

The official package and our engine load the same directory, so their outputs can be compared without a download, and
a GPU can be measured without one. The two real sizes have the published names, shapes, ids and dtypes. The tiny one
keeps the topology in three megabytes of float32: 16 codebooks, 1,024 control ids above the codebook, 1,920 samples a
frame, short windows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import torch

from worker.engine.random_checkpoint.codec_weights import codec_weights
from worker.engine.random_checkpoint.configuration import codec_config, model_config
from worker.engine.random_checkpoint.json_file import write_json
from worker.engine.random_checkpoint.shapes import SAMPLE_RATE_HZ, Shape, shape_of
from worker.engine.random_checkpoint.talker_weights import talker_weights
from worker.engine.random_checkpoint.text_tokenizer import write_text_tokenizer
from worker.engine.random_checkpoint.weights import DeviceDraws, Draws, RepeatableDraws

GENERATION = {
    "do_sample": True,
    "repetition_penalty": 1.05,
    "temperature": 0.9,
    "top_p": 1.0,
    "top_k": 50,
    "subtalker_dosample": True,
    "subtalker_temperature": 0.9,
    "subtalker_top_p": 1.0,
    "subtalker_top_k": 50,
    "max_new_tokens": 8192,
}
TEXT_PROCESSOR = {
    "padding_side": "left",
    "padding_value": 0.0,
    "processor_class": "Qwen3TTSProcessor",
    "return_attention_mask": True,
}
AUDIO_PROCESSOR = {
    "chunk_length_s": None,
    "feature_extractor_type": "EncodecFeatureExtractor",
    "feature_size": 1,
    "overlap": None,
    "padding_side": "right",
    "padding_value": 0.0,
    "return_attention_mask": True,
    "sampling_rate": SAMPLE_RATE_HZ,
}
CODEC_FRAMEWORK = {"framework": "pytorch", "task": "feature-extraction", "allow_remote": True}


Tensors = Mapping[str, torch.Tensor]


def make_checkpoint(out: Path, size: str = "tiny", variant: str = "base", seed: int = 0, eos_gain: float = 1.0) -> str:
    """Write the directory; gives a digest of its weights, the same on every machine.

    eos_gain scales the end-of-speech row of the codec head: larger values end utterances sooner, 0 never.
    Raises ValueError for a size that the variant does not have.
    """
    return digest_of(*_write(out, shape_of(size, variant), variant, RepeatableDraws(seed), eos_gain))


def draw_checkpoint(out: Path, size: str, variant: str, device: torch.device, eos_gain: float) -> None:
    """The same directory with numbers that the device draws: same names, shapes, means and deviations."""
    _write(out, shape_of(size, variant), variant, DeviceDraws(device), eos_gain)
    if device.type == "cuda":
        # An engine plans its slots from what is free.
        torch.cuda.empty_cache()


def _write(out: Path, shape: Shape, variant: str, draws: Draws, eos_gain: float) -> tuple[Tensors, Tensors]:
    codec_dir = out / "speech_tokenizer"
    codec_dir.mkdir(parents=True, exist_ok=True)
    text_ids = write_text_tokenizer(out, shape.last_byte_pair)
    write_json(out / "config.json", model_config(shape, variant, text_ids))
    write_json(out / "generation_config.json", GENERATION)
    write_json(out / "preprocessor_config.json", TEXT_PROCESSOR)
    write_json(codec_dir / "config.json", codec_config(shape))
    write_json(codec_dir / "configuration.json", CODEC_FRAMEWORK)
    write_json(codec_dir / "preprocessor_config.json", AUDIO_PROCESSOR)
    model, codec = talker_weights(shape, variant, draws, eos_gain), codec_weights(shape, draws)
    model.write(out / "model.safetensors")
    codec.write(codec_dir / "model.safetensors")
    return model.tensors, codec.tensors


def digest_of(*groups: Tensors) -> str:
    """SHA-256 over names and bytes, independent of how a file orders them."""
    digest = hashlib.sha256()
    for group in groups:
        for name in sorted(group):
            digest.update(name.encode())
            digest.update(group[name].contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()
