"""The speech tokenizer as it is run: frames to samples, and recordings to frames.

Whole utterances go through the incremental codec as well: chunks that fit the processor's cache are faster than
one pass, and memory does not grow with the utterance.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from worker.engine.errors import CheckpointError, RequestRejected
from worker.engine.interface import CodecFrames, Pcm
from worker.engine.model.codec_config import CodecConfig, codec_config_from
from worker.engine.model.codec_decoder import CodecDecoder
from worker.engine.model.codec_encoder import CodecEncoder
from worker.engine.model.codec_layers import StreamState
from worker.engine.model.config import read_config
from worker.engine.model.weights import loaded, read_tensors, tensors_under
from worker.engine.profiles import FRAMES_PER_PASS_CPU
from worker.engine.stages.recording import recording_at

# A GPU wants long launches, unlike a CPU.
_FRAMES_PER_PASS_GPU = 100


class CodecStage:
    """Any thread may call any method: the weights are read-only, and a stream's state belongs to its caller."""

    def __init__(
        self, config: CodecConfig, decoder: CodecDecoder, encoder: CodecEncoder | None, device: torch.device
    ) -> None:
        self.config = config
        self.decoder = decoder.to(device)
        self._encoder = None if encoder is None else encoder.to(device)
        self._device = device
        self._frames_per_pass = FRAMES_PER_PASS_CPU if device.type == "cpu" else _FRAMES_PER_PASS_GPU

    @classmethod
    def load(cls, checkpoint: Path, device: str, *, decodes_only: bool = False) -> CodecStage:
        """From `speech_tokenizer/` of the checkpoint; decodes_only: without the encoder.

        Raises CheckpointError unless every field and tensor is as published. A tokenizer that only speaks has neither
        an `encoder_config` section nor encoder tensors; a checkpoint that clones voices cannot have such a one.
        """
        config_path = checkpoint / "speech_tokenizer" / "config.json"
        config = codec_config_from(read_config(config_path))
        if config.encoder is None and read_config(checkpoint / "config.json").text("tts_model_type") == "base":
            raise CheckpointError(f"{config_path}: encoder_config is missing, and a base checkpoint clones voices")
        weights_path = checkpoint / "speech_tokenizer" / "model.safetensors"
        tensors = read_tensors(weights_path)
        decoder_tensors = tensors_under(tensors, "decoder.")
        encoder_tensors = tensors_under(tensors, "encoder.")
        strangers = len(tensors) - len(decoder_tensors) - len(encoder_tensors)
        if strangers or (encoder_tensors and config.encoder is None):
            raise CheckpointError(f"{weights_path} has tensors of parts that {config_path} does not describe")
        encoder = None
        if (parts := config.encoder) is not None and not decodes_only:
            source = f"{weights_path} (encoder.*)"
            encoder = loaded(lambda: CodecEncoder(parts, config.num_quantizers), encoder_tensors, source)
        decoder = CodecDecoder.load(config.decoder, decoder_tensors, f"{weights_path} (decoder.*)")
        # torch lets cuDNN round convolutions to TF32, which moves latents across the border between two codebook
        # entries. The switch is the process's: set here once, it cannot change while another thread decodes.
        torch.backends.cudnn.allow_tf32 = False
        return cls(config, decoder, encoder, torch.device(device))

    def open_stream(self) -> DecodeStream:
        """A stream at the start of an utterance."""
        return DecodeStream(self, self.decoder.new_stream())

    def stream_from(self, state: StreamState) -> DecodeStream:
        """A stream that continues from a state, which stays unchanged."""
        return DecodeStream(self, StreamState(state.position, list(state.slots)))

    def decode(self, frames: CodecFrames) -> Pcm:
        """The samples (T · samples_per_frame,) of one whole utterance; equal frames give equal bits."""
        return self.open_stream().push(frames)

    @torch.inference_mode()
    def decode_next(self, frames: CodecFrames, state: StreamState) -> Pcm:
        """The samples of a stream's next frames; `state` moves on. Raises ValueError for frames of another codec."""
        codes = self._checked(frames)
        if not len(codes):
            return np.zeros(0, dtype=np.float32)
        passes = [self.decoder(part, state) for part in codes.split(self._frames_per_pass)]
        return torch.cat(passes).cpu().numpy()

    def prepared(self, pcm: Pcm, sample_rate_hz: int) -> Pcm:
        """A mono recording at the codec's rate, zeros completing its last frame.

        Raises RequestRejected when the checkpoint has no encoder, or the recording is empty, broken or too short.
        """
        if self._encoder is None:
            raise RequestRejected(
                "this checkpoint cannot clone from a recording and its text: its speech tokenizer has no encoder"
            )
        samples = recording_at(pcm, sample_rate_hz, self.config.sample_rate_hz, min_samples=1)
        return np.pad(samples, (0, -samples.size % self.config.samples_per_frame))

    @torch.inference_mode()
    def encode(self, recordings: Sequence[Pcm]) -> list[CodecFrames]:
        """The frames (T, Q) of each prepared recording. Of a codec with an encoder.

        Who is there besides changes latents by rounding alone; a code could only differ where two entries are equally
        near to a latent.
        """
        assert self._encoder is not None  # noqa: S101  (nothing is prepared without)
        codes = self._encoder([torch.from_numpy(pcm).to(self._device) for pcm in recordings])
        return [frames.to(torch.int16).cpu().numpy() for frames in codes]

    def _checked(self, frames: CodecFrames) -> Tensor:
        quantizers, size = self.config.num_quantizers, self.config.codebook_size
        if frames.ndim != 2 or frames.shape[1] != quantizers or not np.issubdtype(frames.dtype, np.integer):
            raise ValueError(f"frames are integers of shape (T, {quantizers}), not {frames.dtype} {frames.shape}")
        if frames.size and not 0 <= frames.min() <= frames.max() < size:
            raise ValueError(f"frames hold codes from {frames.min()} to {frames.max()}; there are {size}")
        return torch.from_numpy(frames.astype(np.int64)).to(self._device)


class DecodeStream:
    """One utterance, decoded as its frames arrive. Belongs to one thread. state: what the next push will start from."""

    def __init__(self, stage: CodecStage, state: StreamState) -> None:
        self._stage = stage
        self.state = state

    def push(self, frames: CodecFrames) -> Pcm:
        """The samples of the next frames (T, Q), T ≥ 0. Joined, they equal `decode` of all frames up to rounding."""
        return self._stage.decode_next(frames, self.state)
