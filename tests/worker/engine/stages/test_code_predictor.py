"""The residual codes of a frame: bit for bit those of a loop that runs every position in a pass of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.property_tests import examples
from worker.engine.interface import TokenSampling
from worker.engine.model.code_predictor import CodePredictor
from worker.engine.model.config import CodePredictorConfig, read_model_config
from worker.engine.model.layers import RotaryTable
from worker.engine.model.speech_modules import load_modules
from worker.engine.requests.sampling import Draw, NoiseTable, RowSampling, StepSampling, draw_for, sample
from worker.engine.stages.code_predictor import CodePredictorStage

SMALL_VOICE = Path(__file__).resolve().parents[4] / "worker/small_voice"
MOST_ROWS = 16
CPU = torch.device("cpu")
SAMPLINGS = st.builds(
    TokenSampling,
    temperature=st.sampled_from([0.0, 0.3, 0.9, 1.0, 2.0]),
    top_k=st.sampled_from([0, 1, 5, 20, 50]),
    top_p=st.sampled_from([0.2, 0.8, 1.0]),
)


@dataclass(frozen=True)
class Loaded:
    config: CodePredictorConfig
    predictor: CodePredictor
    first_table: Tensor
    stage: CodePredictorStage
    noise: NoiseTable

    @classmethod
    @torch.inference_mode()
    def read(cls, checkpoint: Path) -> Loaded:
        config = read_model_config(checkpoint / "config.json")
        talker, predictor = load_modules(checkpoint / "model.safetensors", config, torch.float32, CPU)
        size = config.predictor.codebook_size
        first_table = talker.model.codec_embedding.weight[:size]
        stage = CodePredictorStage(config.predictor, predictor, first_table, MOST_ROWS)
        noise = NoiseTable([size] * (config.predictor.num_codebooks - 1), CPU)
        return cls(config.predictor, predictor, first_table, stage, noise)


@pytest.fixture(scope="module", params=["custom_voice", "small voice"])
def loaded(request: pytest.FixtureRequest, checkpoints: Mapping[str, Path]) -> Loaded:
    return Loaded.read(SMALL_VOICE if request.param == "small voice" else checkpoints[request.param])


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**31),
    frame=st.integers(0, 500),
    rows_sampling=st.lists(SAMPLINGS, min_size=1, max_size=MOST_ROWS // 4),
)
def test_codes_and_scores_are_those_of_one_position_a_pass(
    loaded: Loaded, seed: int, frame: int, rows_sampling: list[TokenSampling]
) -> None:
    num_rows = 4 * len(rows_sampling)
    generator = torch.Generator().manual_seed(seed)
    hidden = 3 * torch.randn(num_rows, loaded.config.talker_hidden_size, generator=generator)
    first_codes = torch.randint(loaded.config.codebook_size, (num_rows,), generator=generator)
    noise = loaded.noise.at(torch.arange(num_rows) + seed, torch.full((num_rows,), frame))
    rows, draw = step_sampling(rows_sampling * 4, loaded.config.codebook_size)

    with torch.inference_mode():
        codes, scores = loaded.stage.complete(hidden, first_codes, noise, rows, draw)
        expected_codes, expected_scores = one_position_a_pass(loaded, hidden, first_codes, noise, rows, draw)

    assert torch.equal(codes, expected_codes)
    assert torch.equal(scores, expected_scores)


def test_a_frame_leaves_nothing_behind_for_the_next(loaded: Loaded) -> None:
    rows, draw = step_sampling([TokenSampling(temperature=0.9)] * 4, loaded.config.codebook_size)
    noise = loaded.noise.at(torch.arange(4), torch.zeros(4, dtype=torch.int64))
    hidden = torch.randn(4, loaded.config.talker_hidden_size, generator=torch.Generator().manual_seed(1))
    first_codes = torch.arange(4)

    with torch.inference_mode():
        before, _ = loaded.stage.complete(hidden, first_codes, noise, rows, draw)
        loaded.stage.complete(-hidden, first_codes + 9, noise, rows, draw)
        after, _ = loaded.stage.complete(hidden, first_codes, noise, rows, draw)

    assert torch.equal(before, after)


def step_sampling(samplings: Sequence[TokenSampling], codebook_size: int) -> tuple[StepSampling, Draw]:
    rows = RowSampling(len(samplings), codebook_size, CPU)
    for row, sampling in enumerate(samplings):
        rows.set(row, sampling)
    return rows.at(torch.arange(len(samplings))), draw_for(samplings, codebook_size)


def one_position_a_pass(
    loaded: Loaded, hidden: Tensor, first_codes: Tensor, noise: Sequence[Tensor], rows: StepSampling, draw: Draw
) -> tuple[Tensor, Tensor]:
    """What `CodePredictorStage.complete` gives, without anything that it does for speed."""
    predictor, past = loaded.predictor, Past()
    rotary = RotaryTable(loaded.config.transformer, loaded.config.num_codebooks, CPU)
    tables = (loaded.first_table, *predictor.residual_embeddings)
    predictor(predictor.project(hidden), rotary.span(0, 1), past)
    codes, scores = [first_codes], list[Tensor]()
    for g, head in enumerate(predictor.heads.weight):
        inputs = predictor.project(tables[g]).index_select(0, codes[-1])
        state = predictor(inputs, rotary.span(g + 1, g + 2), past)
        code, score = sample(F.linear(state, head), noise[g], rows, draw)
        codes.append(code)
        scores.append(score)
    return torch.stack(codes, dim=1), torch.stack(scores, dim=1)


@dataclass
class Past:
    """Keys and values of every layer, one position behind the other."""

    keys: dict[int, Tensor] = field(default_factory=dict[int, Tensor])
    values: dict[int, Tensor] = field(default_factory=dict[int, Tensor])

    def __call__(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        num_rows, num_kv_heads, head_dim = keys.shape
        for kept, new in ((self.keys, keys), (self.values, values)):
            kept[layer] = torch.cat((kept[layer], new.unsqueeze(2)), dim=2) if layer in kept else new.unsqueeze(2)
        grouped = queries.reshape(num_rows, num_kv_heads, -1, head_dim)
        return F.scaled_dot_product_attention(grouped, self.keys[layer], self.values[layer]).reshape(num_rows, -1)
