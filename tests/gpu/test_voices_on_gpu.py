"""Recordings through the published encoders' dimensions on a real device: in company as alone, and as on the CPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.tiny_checkpoint import RepeatableDraws
from worker.engine.interface import Pcm
from worker.engine.random_checkpoint.configuration import codec_config, model_config
from worker.engine.random_checkpoint.directory import (
    codec_weights,
    speaker_encoder_weights,
    write_json,
    write_text_tokenizer,
)
from worker.engine.random_checkpoint.shapes import shape_of
from worker.engine.random_checkpoint.weights import Weights
from worker.engine.stages.codec import CodecStage
from worker.engine.stages.speaker import SpeakerStage

RATE_HZ = 24_000
SECONDS = (10.0, 3.3, 14.1, 1.0)
# In 2,272 codes: where two entries are as near as rounding can tell, the residual codes behind them differ too.
MOST_OTHER_CODES = 0.01


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base checkpoint without a talker: random encoders of the published dimensions."""
    draws, shape = RepeatableDraws(0), shape_of("0.6b", "base")
    out = tmp_path_factory.mktemp("encoders")
    (out / "speech_tokenizer").mkdir()
    text_ids = write_text_tokenizer(out, shape.last_byte_pair)
    write_json(out / "config.json", model_config(shape, "base", text_ids))
    write_json(out / "speech_tokenizer" / "config.json", codec_config(shape))
    codec_weights(shape, draws).write(out / "speech_tokenizer" / "model.safetensors")
    speaker = Weights(draws, shape.dtype)
    speaker_encoder_weights(speaker, shape.speaker, shape.talker.hidden)
    speaker.write(out / "model.safetensors")
    return out


def recordings() -> list[Pcm]:
    draw = np.random.default_rng(5)
    made: list[Pcm] = []
    for number, seconds in enumerate(SECONDS):
        t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
        buzz = sum(np.sin(2 * np.pi * (100 + 30 * number) * n * t) / n for n in range(1, 8))
        tremor = 0.6 + 0.4 * np.sin(2 * np.pi * 3 * t)
        made.append((0.15 * buzz * tremor + 0.01 * draw.standard_normal(t.size)).astype(np.float32))
    return made


def test_codes_in_company_alone_and_on_the_cpu(checkpoint: Path) -> None:
    here, there = CodecStage.load(checkpoint, "cuda"), CodecStage.load(checkpoint, "cpu")
    clips = [here.prepared(pcm, RATE_HZ) for pcm in recordings()]

    together = np.concatenate(here.encode(clips))
    alone = np.concatenate([here.encode([clip])[0] for clip in clips])
    on_the_cpu = np.concatenate(there.encode(clips))

    assert (together != alone).mean() <= MOST_OTHER_CODES
    assert (together != on_the_cpu).mean() <= MOST_OTHER_CODES


def test_embeddings_in_company_alone_and_on_the_cpu(checkpoint: Path) -> None:
    here, there = SpeakerStage.load(checkpoint, "cuda"), SpeakerStage.load(checkpoint, "cpu")
    prepared = [here.prepared(pcm, RATE_HZ) for pcm in recordings()]

    together = here.embed(prepared)

    for number, one in enumerate(prepared):
        length = np.linalg.norm(together[number])
        assert np.linalg.norm(together[number] - here.embed([one])[0]) <= 1e-5 * length
        assert np.linalg.norm(together[number] - there.embed([one])[0]) <= 1e-4 * length
