"""A checkpoint directory to the parts of an engine: everything that can be wrong with it is found here, at start."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from worker.engine.decoder.apart import ApartCodecLane
from worker.engine.decoder.device_lane import CODEC_FILES, codec_digest, require_device, start_codec
from worker.engine.decoder.protocol import StartDecoder
from worker.engine.errors import CheckpointError
from worker.engine.interface import EngineInfo, VoiceMode
from worker.engine.model.config import (
    ModelConfig,
    read_default_sampling,
    read_max_text_chars,
    read_model_config,
    read_segmentation,
    read_text_front_end,
)
from worker.engine.model.pulled import PACKAGED, VOICES_MISSING, look_at, read_pulled
from worker.engine.model.weights import read_rows
from worker.engine.requests.budget import max_text_tokens
from worker.engine.requests.prompt import PromptBuilder
from worker.engine.requests.text_tokenizer import TextTokenizer
from worker.engine.serving.parts import DeviceMemory, EngineParts, StartedCodec, StartedTalker
from worker.engine.serving.voice_encoder import VoiceEncoder
from worker.engine.serving.voice_lane import VoiceLane
from worker.engine.settings import NativeEngineSettings, VllmEngineSettings
from worker.engine.stages.codec import CodecStage
from worker.engine.stages.speaker import SpeakerStage

# Positions of one slot: 164 s of speech and prompt together. Segments are 5 to 15 s long; what this bounds is the
# memory that one slot can take.
_SLOT_POSITIONS = 2048

# Recordings in one pass of the encoders: sixteen of ten seconds. On a CPU one at a time is as fast.
_VOICES_TOGETHER_S_GPU = 160.0

# Frames that may wait for a decoder apart before requests wait for it: two seconds of each slot, or some utterances.
_WAITING_OF_A_SLOT = 25
_LEAST_MOST_WAITING = 500

_DIGESTED_FILES = ("config.json", "model.safetensors", *CODEC_FILES)
_DIGEST_DIGITS = 16


TalkerSettings = NativeEngineSettings | VllmEngineSettings
StartTalker = Callable[[ModelConfig, int], StartedTalker]
"""(configuration, positions that a slot has at most) -> the lane. Raises CheckpointError as `load_parts` does."""


@torch.inference_mode()
def load_parts(settings: TalkerSettings, start_talker: StartTalker) -> EngineParts:
    """Raises CheckpointError naming the file, field or tensor that is not as published, and StartError."""
    checkpoint, device = settings.checkpoint, require_device(settings.device, "RHAPSODE_DEVICE")
    revision = _revision(checkpoint)
    config, prompts, codec = _read(checkpoint, device)
    # The codec first: the talker's slots are planned from the memory that is left.
    is_apart = bool(settings.decoder_devices)
    decoding = _start_apart(codec, settings) if is_apart else start_codec(codec, device, settings.profile)
    talker = start_talker(config, _capacity(config))
    speaker = SpeakerStage.load(checkpoint, str(device)) if config.has_speaker_encoder else None
    voices_together_s = _VOICES_TOGETHER_S_GPU if device.type == "cuda" else 0.0
    return EngineParts(
        info=replace(
            _describe(checkpoint, revision, talker.capacity, config, prompts, codec),
            slots=talker.num_slots,
            live_slots=talker.num_live,
            takes_open_text=talker.takes_open_text,
        ),
        prompts=prompts,
        talker=talker.lane,
        codec_lane=decoding.lane,
        voices=VoiceLane(VoiceEncoder(config.task, speaker, codec, prompts), voices_together_s),
        capacity=talker.capacity,
        most_waiting_frames=_most_waiting(talker) if is_apart else None,
        memory=DeviceMemory(talker.slot_memory, decoding.bytes_on) if talker.slot_memory else None,
    )


def describe_checkpoint(checkpoint: Path) -> EngineInfo:
    """What an engine with this checkpoint says of itself, but for its slots, of which there are none: the talker, most
    of the weights, is not read. Raises CheckpointError as `load_parts` does.
    """
    revision = _revision(checkpoint)
    config, prompts, codec = _read(checkpoint, torch.device("cpu"))
    return _describe(checkpoint, revision, _capacity(config), config, prompts, codec)


def _read(checkpoint: Path, device: torch.device) -> tuple[ModelConfig, PromptBuilder, CodecStage]:
    config = read_model_config(checkpoint / "config.json")
    prompts = PromptBuilder(config, TextTokenizer.load(checkpoint, config.text_control))
    codec = CodecStage.load(checkpoint, str(device))
    _require_same_codebooks(config, codec, checkpoint)
    return config, prompts, codec


def _capacity(config: ModelConfig) -> int:
    """Positions that a slot has at most."""
    return min(_SLOT_POSITIONS, config.talker.max_positions)


def _start_apart(codec: CodecStage, settings: TalkerSettings) -> StartedCodec:
    """Raises StartError, and EngineDied where a process ends again and again."""
    # The decoder's weights are in the other process.
    codec.decoder.to("meta")
    torch.cuda.empty_cache()
    start = StartDecoder(settings.checkpoint, "", settings.profile, torch.get_num_threads())
    lane = ApartCodecLane(
        [replace(start, device=device) for device in settings.decoder_devices],
        codec_digest(settings.checkpoint),
        codec.config.samples_per_frame,
        codec.config.sample_rate_hz,
    )
    lane.wait_ready()
    return StartedCodec(lane, bytes_on=lambda _: 0)


def _most_waiting(talker: StartedTalker) -> int:
    return max(_LEAST_MOST_WAITING, _WAITING_OF_A_SLOT * (talker.num_slots + talker.num_live))


def _voice_modes(config: ModelConfig, codec: CodecStage) -> tuple[VoiceMode, ...]:
    if not config.has_speaker_encoder:
        return ()
    return (VoiceMode.X_VECTOR,) if codec.config.encoder is None else (VoiceMode.X_VECTOR, VoiceMode.IN_CONTEXT)


def _require_same_codebooks(config: ModelConfig, codec: CodecStage, checkpoint: Path) -> None:
    talker = (config.talker.num_codebooks, config.predictor.codebook_size)
    if (codec.config.num_quantizers, codec.config.codebook_size) != talker:
        raise CheckpointError(
            f"{checkpoint}: the talker makes {talker[0]} codebooks of {talker[1]} entries, the speech tokenizer takes "
            f"{codec.config.num_quantizers} of {codec.config.codebook_size}"
        )


def _describe(
    checkpoint: Path, revision: str, capacity: int, config: ModelConfig, prompts: PromptBuilder, codec: CodecStage
) -> EngineInfo:
    """Without slots: what has some says how many."""
    notice = checkpoint / "NOTICE.txt"
    voice_modes = _voice_modes(config, codec)
    return EngineInfo(
        model=checkpoint.resolve().name,
        revision=revision,
        task=config.task,
        speakers=prompts.speakers,
        languages=prompts.languages,
        sample_rate_hz=codec.config.sample_rate_hz,
        samples_per_frame=codec.config.samples_per_frame,
        num_codebooks=config.talker.num_codebooks,
        codebook_size=config.predictor.codebook_size,
        speaker_dim=config.talker.transformer.hidden_size,
        slots=0,
        live_slots=0,
        takes_open_text=False,
        max_text_tokens=max_text_tokens(capacity),
        max_text_chars=read_max_text_chars(checkpoint / "generation_config.json"),
        text_front_end=read_text_front_end(checkpoint / "generation_config.json"),
        segmentation=read_segmentation(checkpoint / "generation_config.json"),
        accepts_instructions=prompts.accepts_instructions,
        voice_modes=voice_modes,
        speaker_embeddings=_speaker_embeddings(checkpoint, config) if voice_modes else (),
        default_sampling=read_default_sampling(checkpoint / "generation_config.json"),
        notice=notice.read_text(encoding="utf-8").strip() if notice.is_file() else "",
    )


def _speaker_embeddings(checkpoint: Path, config: ModelConfig) -> tuple[tuple[float, ...], ...]:
    """A built-in speaker is a row of the codec's embeddings, which stands where a cloned voice has its own."""
    ids = [*config.talker.speakers.values()]
    if not ids:
        return ()
    rows = read_rows(checkpoint / "model.safetensors", "talker.model.codec_embedding.weight", ids)
    return tuple(tuple(row) for row in rows.float().tolist())


def _revision(checkpoint: Path) -> str:
    """A digest of the weights and the configuration. They are read whole here, before anything is loaded, so a pulled
    checkpoint is held against its record in the same pass. Raises CheckpointError for a file that has changed.
    """
    if not checkpoint.is_dir():
        hint = f": {VOICES_MISSING}" if checkpoint in PACKAGED.values() else ""
        raise CheckpointError(f"there is no checkpoint directory {checkpoint}{hint}")
    pulled = read_pulled(checkpoint)
    known = {path: pulled.digest_of(checkpoint, path) for path in pulled.files} if pulled else {}
    digests = (known.get(name) or look_at(checkpoint / name).sha256 for name in _DIGESTED_FILES)
    return hashlib.sha256(b"".join(map(bytes.fromhex, digests))).hexdigest()[:_DIGEST_DIGITS]
