"""vLLM builds a model under its own default dtype; the tables of the slots are of the same dtypes under each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.tiny_checkpoint import make_checkpoint
from tests.worker.engine.cuda.plain_operations import PlainOperations
from worker.engine.cuda.talker.weights import SpeechWeights
from worker.engine.model.code_predictor import CodePredictor
from worker.engine.model.config import ModelConfig, read_model_config
from worker.engine.model.speech_modules import load_modules
from worker.engine.model.talker import Talker
from worker.engine.requests.row_state import FrameRows
from worker.engine.vllm.frames import SlotFrames

CPU = torch.device("cpu")
SLOTS, CAPACITY = 3, 32


@pytest.fixture
def bfloat16_by_default() -> Iterator[None]:
    torch.set_default_dtype(torch.bfloat16)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny")
    make_checkpoint(path, "tiny", "custom_voice", 3, 1.0)
    return path


def tables(owner: object) -> dict[str, torch.dtype]:
    """Every tensor that is reached from here, by the names on the way."""
    found: dict[str, torch.dtype] = {}
    waiting = [("", owner)]
    while waiting:
        path, one = waiting.pop()
        if isinstance(one, Tensor):
            found[path] = one.dtype
        elif isinstance(one, (tuple, list)):
            waiting += [(f"{path}[{n}]", each) for n, each in enumerate(one)]
        elif type(one).__module__.startswith("worker."):
            names = [*getattr(one, "__dict__", ()), *getattr(one, "__slots__", ())]
            waiting += [(f"{path}.{name}", getattr(one, name)) for name in names]
    return found


def built(checkpoint: Path, dtype: torch.dtype) -> dict[str, torch.dtype]:
    config = read_model_config(checkpoint / "config.json")
    modules: tuple[Talker, CodePredictor] = load_modules(checkpoint / "model.safetensors", config, dtype, CPU)
    return tables(_owners(config, *modules, dtype))


def _owners(config: ModelConfig, talker: Talker, predictor: CodePredictor, dtype: torch.dtype) -> tuple[object, ...]:
    weights = SpeechWeights.of(config, talker, predictor, CAPACITY)
    operations = PlainOperations(weights.num_codebooks, weights.codebook_size, CPU)
    frames = SlotFrames(weights, lambda _: operations, SLOTS, CAPACITY, config.text_control.tts_pad)
    return frames, weights, FrameRows(config, SLOTS, CAPACITY, dtype, CPU)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_tables_have_the_same_dtypes_under_any_default(
    checkpoint: Path, dtype: torch.dtype, request: pytest.FixtureRequest
) -> None:
    expected = built(checkpoint, dtype)
    request.getfixturevalue("bfloat16_by_default")

    assert built(checkpoint, dtype) == expected
    assert len(expected) > 100
    assert torch.float32 in {kind for name, kind in expected.items() if name.endswith("inverse_temperature")}
