"""The talker in training form with the weights of the small voice: with the same past it says what the engine says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from training.corpus.text_tokenizer import load_encoder
from training.dimensions import LABELS_PER_FRAME, SPEAKERS, TALKER
from training.talker.talker_batches import Batch, Draw, Examples
from training.talker.talker_model import Talker
from worker.engine.interface import BuiltInSpeaker, CodecFrames, SamplingParams, SpeechRequest, TextMode, TokenSampling
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings

SMALL_VOICE = Path(__file__).parents[3] / "worker" / "small_voice"
TEXT = "Every morning the baker opened his shop."
SPEAKER = 1
MAX_FRAMES = 12
NEAR = 1e-3
"""Logits this near to the largest may be drawn by the other: they round in another order."""


@pytest.fixture(scope="module")
def talker() -> Talker:
    talker = Talker().eval()
    tensors = load_file(SMALL_VOICE / "model.safetensors")
    named = {n.removeprefix("talker."): t for n, t in tensors.items() if n.startswith("talker.")}
    talker.load_state_dict(named)
    return talker.float()


def spoken(text_mode: TextMode, language: str) -> CodecFrames:
    engine = NativeEngine(NativeEngineSettings(SMALL_VOICE, slots=1, num_threads=1))
    greedy = TokenSampling(temperature=0.0)
    request = SpeechRequest(
        "one",
        TEXT,
        BuiltInSpeaker(SPEAKERS[SPEAKER]),
        language=language,
        text_mode=text_mode,
        sampling=SamplingParams(greedy, greedy, repetition_penalty=1.0),
        max_frames=MAX_FRAMES,
    )
    try:
        return engine.submit(request).result().frames
    finally:
        engine.close()


def batch_of(frames: CodecFrames, text_mode: TextMode, language: str) -> Batch:
    """As if the frames had been packed to train on."""
    num_frames, ids = len(frames), torch.tensor(load_encoder(SMALL_VOICE).encode(TEXT).ids, dtype=torch.int16)
    spellings = {
        f"{name}{n}": value
        for n in range(2)
        for name, value in {
            "text": ids,
            "tokens": torch.tensor([len(ids)]),
            "first": torch.zeros(num_frames, dtype=torch.int16),
            "last": torch.zeros(num_frames, dtype=torch.int16),
        }.items()
    }
    examples = Examples(("train",), SMALL_VOICE, torch.device("cpu"))
    packed = {
        "codes": torch.from_numpy(frames),
        "phones": torch.zeros(num_frames, LABELS_PER_FRAME, dtype=torch.uint8),
        "numbers": torch.tensor([0]),
        "frames": torch.tensor([num_frames]),
        "speakers": torch.tensor([SPEAKER]),
        "splits": torch.tensor([0]),
    }
    examples.add([packed | spellings])
    first = np.zeros(1, np.int64)
    return examples.batch(
        Draw(first, first, np.array([text_mode is TextMode.PER_FRAME]), np.array([language == "auto"]))
    )


@torch.no_grad()
@pytest.mark.parametrize(
    ("text_mode", "language"), [(TextMode.WHOLE, "english"), (TextMode.WHOLE, "auto"), (TextMode.PER_FRAME, "english")]
)
def test_the_engine_draws_what_the_trained_talker_holds_for_likeliest(
    talker: Talker, text_mode: TextMode, language: str
) -> None:
    frames = spoken(text_mode, language)
    batch = batch_of(frames, text_mode, language)

    control = talker.model.codec_embedding(batch.control)
    states = talker.model.run(talker.inputs(batch.text, control, batch.is_frame, batch.frames)).states
    first = talker.codec_head(states[batch.predicts])
    later = talker.predictor_logits(states[batch.predicts], batch.targets[batch.predicts])

    codes = torch.from_numpy(frames.astype(np.int64))
    for codebook, logits in enumerate((first, *later)):
        drawn = logits.gather(1, codes[:, codebook : codebook + 1])[:, 0]
        # The last rows of the talker's vocabulary are no codes, and are not drawn.
        likeliest = logits[:, : TALKER.codebook_size].max(1).values
        assert bool((drawn >= likeliest - NEAR).all()), f"codebook {codebook}"
