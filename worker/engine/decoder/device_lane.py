"""The codec's lane on one device: in the engine's process, or in a decoder's."""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch

from worker.engine.cpu.codec_lane import ThreadedCodecLane
from worker.engine.decoder.protocol import DecoderReady
from worker.engine.decoder.wire import Codebooks
from worker.engine.errors import StartError
from worker.engine.model.pulled import look_at
from worker.engine.profiles import ServingProfile
from worker.engine.serving.chunks import chunks_on_cpu
from worker.engine.serving.codec_lane import CodecLane
from worker.engine.serving.engine import use_threads
from worker.engine.serving.parts import StartedCodec
from worker.engine.stages.codec import CodecStage

CODEC_FILES = ("speech_tokenizer/config.json", "speech_tokenizer/model.safetensors")


def start_codec(codec: CodecStage, device: torch.device, profile: ServingProfile) -> StartedCodec:
    """The lane that the device can run."""
    if device.type == "cuda":
        from worker.engine.cuda.capability import DevicePath, path_on

        if path_on(device) is DevicePath.KERNELS:
            # Its kernels need Triton, which a machine without a GPU does not have.
            from worker.engine.cuda.codec.start import start_codec_lane

            return start_codec_lane(codec.decoder, device, profile)
    return StartedCodec(ThreadedCodecLane(codec, chunks_on_cpu(profile)), bytes_on=lambda _: 0)


@torch.inference_mode()
def load_codec(
    checkpoint: Path, device_name: str, profile: ServingProfile, num_threads: int
) -> tuple[CodecLane, DecoderReady, Codebooks]:
    """Of a decoder's process, not started yet. Raises StartError."""
    use_threads(num_threads)
    device = require_device(device_name, "RHAPSODE_DECODER_DEVICE")
    codec = CodecStage.load(checkpoint, str(device), decodes_only=True)
    lane = start_codec(codec, device, profile).lane
    ready = DecoderReady(codec_digest(checkpoint), device_name, profile, torch.get_num_threads())
    return lane, ready, Codebooks(codec.config.num_quantizers, codec.config.codebook_size)


def device_named(name: str) -> torch.device:
    """`cuda` is the first of its devices: streams and graphs want to know which."""
    return torch.device("cuda:0" if name == "cuda" else name)


def require_device(name: str, setting: str) -> torch.device:
    """Raises StartError where torch cannot use it: it is not there, or its driver is too old."""
    device = device_named(name)
    try:
        torch.empty(1, device=device)
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        raise StartError(
            f"{setting}: torch cannot use the device {name}: {str(error).partition(chr(10))[0]}"
        ) from error
    return device


def codec_digest(checkpoint: Path) -> str:
    """Raises CheckpointError."""
    digests = (bytes.fromhex(look_at(checkpoint / name).sha256) for name in CODEC_FILES)
    return hashlib.sha256(b"".join(digests)).hexdigest()[:16]
