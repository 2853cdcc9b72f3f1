"""What is trained and what is run are twins: weights that the recipe writes do in the engine what they did in it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.training.options import arguments
from training import export
from training.codec.decoder_model import CodecDecoder
from training.dimensions import CODEC, SPEAKERS
from training.talker.talker_model import Talker
from training.train_speaker_encoder import VoiceScale
from worker.engine.interface import VoiceMode
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings
from worker.engine.stages.codec import CodecStage

SMALL_VOICE = Path(__file__).parents[2] / "worker" / "small_voice"
NUM_FRAMES = 7


@pytest.fixture(scope="module")
def decoder() -> CodecDecoder:
    """Of weights as they are drawn, rounded as they are exported."""
    torch.manual_seed(3)
    decoder = CodecDecoder()
    decoder.books.normal_()
    return decoder.half().float().eval()


@pytest.fixture(scope="module")
def checkpoint(decoder: CodecDecoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    torch.save(Talker().state_dict(), folder / "talker.pt")
    torch.save(decoder.state_dict(), folder / "decoder.pt")
    torch.save(VoiceScale().encoder.state_dict(), folder / "encoder.pt")
    export.main(
        arguments(talker=folder / "talker.pt", decoder=folder / "decoder.pt", speaker_encoder=folder / "encoder.pt")
        + arguments(tokenizer=SMALL_VOICE, out=folder / "model")
    )
    return folder / "model"


def test_the_engine_loads_it_whole(checkpoint: Path) -> None:
    engine = NativeEngine(NativeEngineSettings(checkpoint, slots=1, num_threads=1))

    try:
        assert engine.info.speakers == SPEAKERS
        assert engine.info.num_codebooks == CODEC.num_quantizers
        assert engine.info.voice_modes == (VoiceMode.X_VECTOR,)
    finally:
        engine.close()


@torch.no_grad()
def test_the_decoder_makes_the_samples_that_it_made_in_training(checkpoint: Path, decoder: CodecDecoder) -> None:
    codes = torch.randint(0, CODEC.codebook_size, (1, CODEC.num_quantizers, NUM_FRAMES))

    trained = decoder(codes)[0, 0].numpy()
    run = CodecStage.load(checkpoint, "cpu").decode(codes[0].T.numpy().astype(np.int16))

    assert float(np.abs(trained).max()) > 1e-4
    np.testing.assert_allclose(run, trained, atol=1e-4 * float(np.abs(trained).max()))


def test_the_small_voice_has_the_configuration_that_is_exported(checkpoint: Path) -> None:
    for name in ("config.json", "generation_config.json", "speech_tokenizer/config.json"):
        assert json.loads((checkpoint / name).read_text()) == json.loads((SMALL_VOICE / name).read_text()), name
