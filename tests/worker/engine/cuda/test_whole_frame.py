"""All kernels together make the frames that plain torch makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.worker.engine.cuda.plain_operations import PlainOperations
from worker.engine.cuda.talker.decode.operations import Operations
from worker.engine.cuda.talker.decode.triton_operations import FewRowOperations, SomeRowOperations, TritonOperations
from worker.engine.cuda.talker.prefill.pack import SlotAdmission
from worker.engine.cuda.talker.talker import SlotTalker
from worker.engine.cuda.talker.weights import SpeechWeights
from worker.engine.interface import BuiltInSpeaker, SamplingParams, SpeechRequest, TextMode, TokenSampling
from worker.engine.model.config import read_model_config
from worker.engine.requests.prompt import PromptBuilder
from worker.engine.requests.request_state import RequestState
from worker.engine.requests.text_tokenizer import TextTokenizer

SLOTS, CAPACITY, FRAMES = 3, 64, 2
DRAWS = (TokenSampling(), TokenSampling(temperature=0.0), TokenSampling(temperature=1.0, top_k=20, top_p=0.8))


@pytest.fixture
def states(checkpoints: Mapping[str, Path]) -> list[RequestState]:
    config = read_model_config(checkpoints["custom_voice"] / "config.json")
    prompts = PromptBuilder(config, TextTokenizer.load(checkpoints["custom_voice"], config.text_control))
    requests = [
        SpeechRequest(
            str(n),
            "Hi.",
            BuiltInSpeaker("ryan"),
            text_mode=list(TextMode)[n % 2],
            sampling=SamplingParams(talker=draw, predictor=draw),
            seed=n - 1,
        )
        for n, draw in enumerate(DRAWS)
    ]
    return [RequestState(r.request_id, prompts.build(r), r.sampling, r.seed, FRAMES - 1) for r in requests]


@pytest.mark.parametrize("kind", [TritonOperations, FewRowOperations, SomeRowOperations])
def test_prompts_and_frames_are_those_of_plain_torch(
    kind: type[TritonOperations], checkpoints: Mapping[str, Path], states: list[RequestState], device: torch.device
) -> None:
    path = checkpoints["custom_voice"]
    config = read_model_config(path / "config.json")
    weights = shortened(SpeechWeights.load(path / "model.safetensors", config, CAPACITY, torch.float32, device))
    arrivals = torch.zeros(SLOTS * config.talker.transformer.num_kv_heads, dtype=torch.int32, device=device)
    kernels = kind(2, arrivals)
    plain = PlainOperations(weights.num_codebooks, weights.codebook_size, device)

    made = packets(weights, states, kernels, config.text_control.tts_pad)
    expected = packets(weights, states, plain, config.text_control.tts_pad)

    torch.testing.assert_close(made, expected, rtol=0, atol=0)


def shortened(weights: SpeechWeights) -> SpeechWeights:
    """Three codebooks instead of sixteen: the interpreter is slow, and the other passes are no different."""
    predictor, tables = weights.predictor, weights.tables
    return replace(
        weights,
        predictor=replace(predictor, inputs=predictor.inputs[:2], heads=predictor.heads[:2]),
        tables=replace(tables, residual=tables.residual[:2]),
    )


@torch.inference_mode()
def packets(weights: SpeechWeights, states: list[RequestState], operations: Operations, pad_id: int) -> torch.Tensor:
    talker = SlotTalker(weights, SLOTS, CAPACITY, SLOTS + 1, pad_id)
    admissions = [SlotAdmission(slot, state) for slot, state in enumerate(states)]
    talker.admit(admissions, CAPACITY, talker.eager_layers(operations))
    # The last row is padding: it runs in the scratch slot.
    slots = torch.tensor([2, 0, 1, SLOTS], dtype=torch.int32, device=weights.device)
    return torch.stack([talker.step.run(slots, operations)[:SLOTS] for _ in range(FRAMES)]).cpu()
