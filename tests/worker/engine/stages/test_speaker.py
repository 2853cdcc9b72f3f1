"""Recordings to speaker embeddings: the official numbers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import soxr
import torch
from torch import Tensor

from worker.engine.errors import CheckpointError, RequestRejected
from worker.engine.model.config import ConfigFields
from worker.engine.model.mel import LogMel
from worker.engine.model.padded_batch import PaddedBatch
from worker.engine.model.speaker_encoder import SpeakerEncoderConfig, speaker_encoder_config_from
from worker.engine.stages.speaker import SpeakerStage

TOLERANCE = 1e-5
RATE_HZ = 24_000


@pytest.fixture(scope="module")
def speaker(checkpoints: Mapping[str, Path]) -> SpeakerStage:
    return SpeakerStage.load(checkpoints["base"], "cpu")


@pytest.fixture(scope="module")
def samples(speaker_recording: Mapping[str, Tensor]) -> np.ndarray:
    return speaker_recording["pcm16"].numpy().astype(np.float32) / 32768


def embedded(speaker: SpeakerStage, pcm: np.ndarray, rate_hz: int = RATE_HZ) -> np.ndarray:
    (embedding,) = speaker.embed([speaker.prepared(pcm, rate_hz)])
    return embedding


def test_log_mel_is_the_official_one(samples: np.ndarray, speaker_recording: Mapping[str, Tensor]) -> None:
    batch = PaddedBatch([len(samples)], torch.device("cpu"))
    (log_mel,) = LogMel(torch.device("cpu"))(torch.from_numpy(samples)[None], batch)

    assert log_mel.shape == speaker_recording["log_mel"].shape
    assert (log_mel - speaker_recording["log_mel"]).abs().max() <= TOLERANCE


def test_the_embedding_is_the_official_one(
    speaker: SpeakerStage, samples: np.ndarray, speaker_recording: Mapping[str, Tensor]
) -> None:
    embedding = embedded(speaker, samples)

    assert embedding.dtype == np.float32
    assert np.abs(embedding - speaker_recording["speaker_embedding"].numpy()).max() <= TOLERANCE


def test_recordings_in_company_get_the_embeddings_that_they_get_alone(
    speaker: SpeakerStage, samples: np.ndarray
) -> None:
    quiet = samples[2000:9001] * np.float32(0.1)
    recordings = [samples, samples[:1280], np.tile(samples, 3), quiet]

    together = speaker.embed(recordings)

    for embedding, recording in zip(together, recordings, strict=True):
        alone = embedded(speaker, recording)
        assert np.linalg.norm(embedding - alone) <= TOLERANCE * np.linalg.norm(alone)


def test_another_sample_rate_hardly_changes_the_embedding(speaker: SpeakerStage, samples: np.ndarray) -> None:
    at_48_khz = soxr.resample(samples, RATE_HZ, 48_000)

    here, there = embedded(speaker, samples), embedded(speaker, at_48_khz, 48_000)

    assert here @ there / (np.linalg.norm(here) * np.linalg.norm(there)) > 0.99


@pytest.mark.parametrize("num_samples", [0, 384, 1279])
def test_a_recording_shorter_than_the_window_is_rejected(speaker: SpeakerStage, num_samples: int) -> None:
    with pytest.raises(RequestRejected, match="too short"):
        speaker.prepared(np.zeros(num_samples, dtype=np.float32), RATE_HZ)


def test_the_shortest_recording_has_a_finite_embedding(speaker: SpeakerStage) -> None:
    assert np.isfinite(embedded(speaker, np.zeros(1280, dtype=np.float32))).all()


def test_the_published_file_names_only_the_width() -> None:
    fields = ConfigFields({"enc_dim": 1024, "sample_rate": 24_000}, "config.json")

    assert speaker_encoder_config_from(fields) == SpeakerEncoderConfig(
        embedding_dim=1024,
        channels=(512, 512, 512, 512, 1536),
        kernel_sizes=(5, 3, 3, 3, 1),
        dilations=(1, 2, 3, 4, 1),
        attention_channels=128,
        res2net_scale=8,
        se_channels=128,
    )


def test_another_rate_than_the_mel_front_end_is_refused() -> None:
    fields = ConfigFields({"enc_dim": 1024, "sample_rate": 16_000}, "config.json")

    with pytest.raises(CheckpointError, match="sample_rate is 16000, should be 24000"):
        speaker_encoder_config_from(fields)


def test_a_checkpoint_without_a_speaker_encoder_is_refused(checkpoints: Mapping[str, Path]) -> None:
    with pytest.raises(CheckpointError, match="speaker_encoder_config is missing"):
        SpeakerStage.load(checkpoints["custom_voice"], "cpu")


def test_other_dimensions_than_the_tensors_have_are_refused(checkpoints: Mapping[str, Path], tmp_path: Path) -> None:
    checkpoint = Path(shutil.copytree(checkpoints["base"], tmp_path / "base"))
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    config["speaker_encoder_config"]["enc_se_channels"] = 8
    (checkpoint / "config.json").write_text(json.dumps(config), encoding="utf-8")

    with pytest.raises(CheckpointError, match="misshapen"):
        SpeakerStage.load(checkpoint, "cpu")
