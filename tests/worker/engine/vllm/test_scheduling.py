"""What vLLM does with requests when memory is short, and what becomes of one whose numbers blow up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.worker.engine.vllm.slot_talker import SlotTalker
from worker.engine.errors import CheckpointError
from worker.engine.interface import BuiltInSpeaker, SamplingParams, SpeechRequest, TextMode, TokenSampling
from worker.engine.model.config import read_model_config
from worker.engine.profiles import AdmissionPolicy
from worker.engine.requests.prompt import PromptBuilder
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.requests.text_tokenizer import TextTokenizer
from worker.engine.serving.admission_queue import AdmissionPace
from worker.engine.serving.chunks import ChunkPlan
from worker.engine.serving.slot_queue import SlotQueue
from worker.engine.serving.talker_lane import EndedSpeech
from worker.engine.vllm.internals import StockEngine, TalkerLimits
from worker.engine.vllm.lane import VllmTalkerLane
from worker.engine.vllm.talker_model import VllmTalker

ROWS, CAPACITY = 4, 256
GREEDY = TokenSampling(temperature=0.0)


class LaneRig:
    """A talker's lane over a vLLM with so many bytes for keys and values, driven step by step."""

    def __init__(self, checkpoint: Path, kv_bytes: int, talker: type[VllmTalker] = VllmTalker) -> None:
        config = read_model_config(checkpoint / "config.json")
        self._prompts = PromptBuilder(config, TextTokenizer.load(checkpoint, config.text_control))
        limits = TalkerLimits(ROWS, CAPACITY, 64, kv_bytes, kv_share=None)
        self._engine = StockEngine(talker, checkpoint, torch.float32, limits)
        self.preempted = 0

    def run(self, requests: Sequence[SpeechRequest]) -> Mapping[str, EndedSpeech]:
        model = self._engine.model
        assert isinstance(model, VllmTalker)
        lane = VllmTalkerLane(
            self._engine,
            model.arena,
            SlotQueue(ROWS, 0, 0),
            ROWS,
            ChunkPlan(1, 4),
            AdmissionPace(AdmissionPolicy(1024)),
        )
        for request in requests:
            prompt = self._prompts.build(request)
            assert request.max_frames is not None
            lane.add(RequestState(request.request_id, prompt, request.sampling, request.seed, request.max_frames))
        ended: dict[str, EndedSpeech] = {}
        while lane.has_work:
            ended |= {one.request.request_id: one for one in lane.step(lambda: False).ended}
            self.preempted = max(self.preempted, self._engine.num_preempted)
        return ended


def block_bytes(checkpoint: Path) -> int:
    """Of one block of vLLM's: keys and values of 128 positions."""
    transformer = read_model_config(checkpoint / "config.json").talker.transformer
    return 2 * transformer.num_layers * transformer.num_kv_heads * transformer.head_dim * 4 * 128


@pytest.mark.parametrize("talker", [VllmTalker, SlotTalker])
def test_requests_that_lose_their_memory_to_others_say_the_same(tiny: Path, talker: type[VllmTalker]) -> None:
    requests = [
        SpeechRequest(
            str(n),
            "the rain in the north",
            BuiltInSpeaker("ryan"),
            text_mode=tuple(TextMode)[n % 2],
            sampling=SamplingParams(GREEDY, GREEDY) if n < 2 else SamplingParams(),
            seed=n,
            max_frames=132,
        )
        for n in range(ROWS)
    ]
    roomy = LaneRig(tiny, 16 * block_bytes(tiny))
    expected = roomy.run(requests)
    narrow = LaneRig(tiny, 5 * block_bytes(tiny), talker)

    spoken = narrow.run(requests)

    assert roomy.preempted == 0
    assert narrow.preempted > 0
    for name, one in expected.items():
        assert one.end is RowEnd.LENGTH
        np.testing.assert_array_equal(spoken[name].frames, one.frames)


def test_a_sick_request_fails_alone_and_leaves_nothing_behind(tiny: Path, make_checkpoint: Any, tmp_path: Path) -> None:
    make_checkpoint(tmp_path, "tiny", "custom_voice", 5, 0.0)
    config = read_model_config(tmp_path / "config.json")
    sick_token = TextTokenizer.load(tmp_path, config.text_control).encode("~")[0]
    tensors = load_file(tmp_path / "model.safetensors")
    tensors["talker.model.text_embedding.weight"][sick_token] = torch.nan
    save_file(tensors, tmp_path / "model.safetensors")
    healthy = [request_for(str(n), "the rain in the north", n) for n in range(6)]
    expected = LaneRig(tiny, 16 * block_bytes(tiny)).run(healthy)

    spoken = LaneRig(tmp_path, 6 * block_bytes(tiny)).run([request_for("sick", "the ~ in the north", 0), *healthy])

    assert spoken["sick"].end is RowEnd.NON_FINITE
    for request in healthy:
        np.testing.assert_array_equal(spoken[request.request_id].frames, expected[request.request_id].frames)


def test_a_tensor_that_is_missing_is_named(start_vllm: Any, make_checkpoint: Any, tmp_path: Path) -> None:
    make_checkpoint(tmp_path, "tiny", "custom_voice", 5, 0.0)
    tensors = load_file(tmp_path / "model.safetensors")
    del tensors["talker.model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, tmp_path / "model.safetensors")

    with pytest.raises(CheckpointError, match=r"1 missing tensors: model\.layers\.1\.mlp\.up_proj\.weight"):
        start_vllm(tmp_path)


def request_for(name: str, text: str, seed: int) -> SpeechRequest:
    return SpeechRequest(name, text, BuiltInSpeaker("ryan"), seed=seed, max_frames=12)


@pytest.fixture
def tiny(make_checkpoint: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights that never draw the end of speech."""
    path = tmp_path_factory.mktemp("vllm") / "tiny"
    make_checkpoint(path, "tiny", "custom_voice", 5, 0.0)
    return path
