"""The speaker encoder as it is run: recordings to the embeddings that condition the talker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from worker.engine.interface import Pcm
from worker.engine.model.config import read_config
from worker.engine.model.mel import HOP, SAMPLE_RATE_HZ, LogMel
from worker.engine.model.padded_batch import PaddedBatch
from worker.engine.model.speaker_encoder import SpeakerEncoder, speaker_encoder_config_from
from worker.engine.model.weights import loaded, read_tensors, tensors_under
from worker.engine.stages.recording import recording_at


class SpeakerStage:
    """Any thread may call any method: the weights are read-only."""

    def __init__(self, encoder: SpeakerEncoder, min_rows: int, device: torch.device) -> None:
        self._encoder = encoder.to(device)
        self._log_mel = LogMel(device)
        self._min_samples = min_rows * HOP
        self._device = device

    @classmethod
    def load(cls, checkpoint: Path, device: str) -> SpeakerStage:
        """From a `base` checkpoint. Raises CheckpointError when the speaker encoder is missing or not as published."""
        config = speaker_encoder_config_from(read_config(checkpoint / "config.json").section("speaker_encoder_config"))
        weights_path = checkpoint / "model.safetensors"
        tensors = tensors_under(read_tensors(weights_path), "speaker_encoder.")
        encoder = loaded(lambda: SpeakerEncoder(config), tensors, f"{weights_path} (speaker_encoder.*)")
        return cls(encoder, config.min_rows, torch.device(device))

    def prepared(self, pcm: Pcm, sample_rate_hz: int) -> Pcm:
        """A mono recording at 24 kHz.

        Raises RequestRejected when the recording is empty, broken or shorter than the encoder's window.
        """
        return recording_at(pcm, sample_rate_hz, SAMPLE_RATE_HZ, self._min_samples)

    @torch.inference_mode()
    def embed(self, recordings: Sequence[Pcm]) -> NDArray[np.float32]:
        """The embeddings (B, D) of prepared recordings.

        Who is there besides changes an embedding by rounding alone: by at most 1e-5 of its length.
        """
        clips = [torch.from_numpy(pcm) for pcm in recordings]
        samples = PaddedBatch([len(clip) for clip in clips], self._device)
        rows = PaddedBatch([len(clip) // HOP for clip in clips], self._device)
        log_mel = self._log_mel(pad_sequence(clips, batch_first=True).to(self._device), samples)
        return self._encoder(log_mel, rows).cpu().numpy()
