"""Random weights of the published dimensions on a device, and requests for them: what tests and benchmarks share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from worker.engine.cuda.slot_state import FrameTables
from worker.engine.cuda.talker.decode.weights import Heads, LayerWeights, RotaryFactors, TalkerTransformerWeights
from worker.engine.cuda.talker.frame_step import PredictorWeights, TalkerWeights
from worker.engine.cuda.talker.talker import SlotTalker
from worker.engine.cuda.talker.weights import SpeechWeights
from worker.engine.interface import SamplingParams
from worker.engine.model.config import TransformerConfig
from worker.engine.requests.prompt import NO_ID, PromptLayout
from worker.engine.requests.request_state import RequestState, RowEnd

PAD_ID = 3
CODEBOOKS, CODEBOOK_SIZE, CODEC_VOCABULARY, TEXT_VOCABULARY = 16, 2048, 3072, 151_936


@dataclass(frozen=True)
class Size:
    """One published model: the talker's stack; the predictor's is the same in all."""

    talker: TransformerConfig
    predictor: TransformerConfig


def _stack(hidden_size: int, intermediate_size: int, num_layers: int) -> TransformerConfig:
    return TransformerConfig(hidden_size, intermediate_size, num_layers, 16, 8, 128, 1e-6, 1e6)


_PREDICTOR = _stack(1024, 3072, 5)
SIZES = {
    "0.6B": Size(_stack(1024, 3072, 28), _PREDICTOR),
    "1.7B": Size(_stack(2048, 6144, 28), _PREDICTOR),
    "shallow": Size(_stack(2048, 6144, 3), _PREDICTOR),
}


def random_weights(size: Size, num_positions: int, dtype: torch.dtype, device: torch.device) -> SpeechWeights:
    """Made on the device. The end of speech has logit 0, which the fifty most likely codes always exceed."""
    generator = torch.Generator(device).manual_seed(0)

    def normal(*shape: int) -> Tensor:
        values = torch.randn(*shape, generator=generator, device=device)
        return (values * shape[-1] ** -0.5).to(dtype)

    def ones(length: int) -> Tensor:
        return torch.ones(length, dtype=dtype, device=device)

    def layer(config: TransformerConfig) -> LayerWeights:
        width, kv_width = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
        norms = (ones(config.head_dim), ones(config.head_dim), config.rms_norm_eps)
        return LayerWeights(
            input_norm=ones(config.hidden_size),
            qkv=normal(width + 2 * kv_width, config.hidden_size),
            heads=Heads(config.num_heads, config.num_kv_heads, config.head_dim, *norms),
            output=normal(config.hidden_size, width),
            post_norm=ones(config.hidden_size),
            gate_up=normal(2 * config.intermediate_size, config.hidden_size),
            down=normal(config.hidden_size, config.intermediate_size),
        )

    def stack(config: TransformerConfig, positions: int) -> TalkerTransformerWeights:
        layers = tuple(layer(config) for _ in range(config.num_layers))
        rotary = RotaryFactors.compute(config, positions, device)
        return TalkerTransformerWeights(layers, ones(config.hidden_size), config.rms_norm_eps, rotary)

    hidden, width = size.talker.hidden_size, size.predictor.hidden_size
    head = torch.zeros(2112, hidden, dtype=dtype, device=device)
    head[:CODEBOOK_SIZE] = normal(CODEBOOK_SIZE, hidden)
    codec_table = normal(CODEC_VOCABULARY, hidden)
    residual = normal(CODEBOOKS - 1, CODEBOOK_SIZE, hidden)
    return SpeechWeights(
        talker=TalkerWeights(stack(size.talker, num_positions), head),
        predictor=PredictorWeights(
            transformer=stack(size.predictor, CODEBOOKS),
            inputs=normal(CODEBOOKS - 1, CODEBOOK_SIZE, width),
            heads=normal(CODEBOOKS - 1, CODEBOOK_SIZE, width),
            projection=None if hidden == width else (normal(width, hidden), ones(width)),
        ),
        tables=FrameTables(codec_table[:CODEBOOK_SIZE], residual, normal(TEXT_VOCABULARY, hidden)),
        codec_table=codec_table,
    )


def random_request(name: str, prompt_rows: int, max_frames: int, seed: int) -> RequestState:
    ids = np.random.default_rng(seed).integers(0, TEXT_VOCABULARY, prompt_rows)
    codec_ids = np.where(np.arange(prompt_rows) < 3, NO_ID, 2100)
    layout = PromptLayout(ids, codec_ids, np.zeros(0, np.int64), num_text_tokens=max(1, max_frames // 3))
    return RequestState(name, layout, SamplingParams(), seed, max_frames)


def run_all_slots(talker: SlotTalker, position: int, seed: int = 5) -> None:
    """Every slot in the middle of a speech that has `position` tokens so far, all of them random."""
    state = talker.state
    generator = torch.Generator(state.position.device).manual_seed(seed)
    for cache in (talker.memory.keys, talker.memory.values):
        for layer in cache:
            past = layer[:, :, :position]
            past.copy_(torch.randn(past.shape, generator=generator, device=past.device))
    slots = slice(0, state.num_slots)
    state.position[slots], state.frame[slots], state.status[slots] = position, 100, int(RowEnd.RUNNING)
    state.max_frames[slots] = 1 << 20
    state.present.zero_()
    state.seed.random_(generator=generator)
    state.next_input.normal_(generator=generator)
    for sampling in (state.talker, state.predictor):
        sampling.inverse_temperature.fill_(1 / 0.9)
        sampling.noise_scale.fill_(1.0)
        sampling.top_k.fill_(50)
    state.penalty.fill_(1.05)
