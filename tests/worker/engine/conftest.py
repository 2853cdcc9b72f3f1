"""The tiny checkpoints and what the official package makes of them (tests/parity/README.md lists the arrays); engines.

The vLLM engine takes part where vLLM is installed, which is an environment of its own: `make vllm-test`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from tests import tiny_checkpoint as tiny
from tests.worker.engine.contracted_engines import ENGINES, Case, case_of

PARITY = Path(__file__).parents[2] / "parity"
VARIANTS = ("base", "custom_voice", "voice_design")


@dataclass(frozen=True)
class Recording:
    """One variant's requests and arrays."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, Tensor]

    @property
    def requests(self) -> list[dict[str, Any]]:
        return self.facts["requests"]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Tiny matrices gain nothing from a second thread, and on a busy machine every operation would wait for it."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def make_checkpoint() -> Callable[..., str]:
    """(out, size, variant, seed, eos_gain) -> digest."""
    return tiny.make_checkpoint


@pytest.fixture(scope="session")
def recordings() -> Mapping[str, Recording]:
    return {
        variant: Recording(
            json.loads((PARITY / "fixtures" / f"{variant}.json").read_text(encoding="utf-8")),
            load_file(PARITY / "fixtures" / f"{variant}.safetensors"),
        )
        for variant in VARIANTS
    }


@pytest.fixture(scope="session")
def codec_recording() -> Mapping[str, Tensor]:
    return load_file(PARITY / "fixtures" / "codec.safetensors")


@pytest.fixture(scope="session")
def speaker_recording() -> Mapping[str, Tensor]:
    return load_file(PARITY / "fixtures" / "speaker.safetensors")


@pytest.fixture(scope="session")
def checkpoints(
    make_checkpoint: Callable[..., str],
    recordings: Mapping[str, Recording],
    tmp_path_factory: pytest.TempPathFactory,
) -> Mapping[str, Path]:
    """The recorded checkpoints, one directory per variant; read-only by agreement."""
    paths: dict[str, Path] = {}
    for variant in VARIANTS:
        recorded = recordings[variant].facts["checkpoint"]
        paths[variant] = tmp_path_factory.mktemp("checkpoint") / variant
        digest = make_checkpoint(paths[variant], recorded["size"], variant, recorded["seed"], recorded["eos_gain"])
        assert digest == recorded["digest"], "random checkpoints changed: record the fixtures again"
    return paths


@pytest.fixture(scope="session")
def tiny_checkpoint(make_checkpoint: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights that never draw the end of speech: a request speaks until its `max_frames`."""
    checkpoint = tmp_path_factory.mktemp("contract") / "tiny"
    make_checkpoint(checkpoint, "tiny", "custom_voice", 5, 0.0)
    return checkpoint


@pytest.fixture(scope="module", params=ENGINES)
def case(request: pytest.FixtureRequest, tiny_checkpoint: Path) -> Case:
    return case_of(request.param, tiny_checkpoint)
