"""The main `model.safetensors` as modules: the talker and the code predictor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from worker.engine.errors import CheckpointError
from worker.engine.model.code_predictor import CodePredictor
from worker.engine.model.config import ModelConfig
from worker.engine.model.talker import Talker
from worker.engine.model.weights import loaded, read_tensors, require_published, tensors_under

TALKER_PREFIX = "talker."
_PREDICTOR_IN_TALKER, _SPEAKER_ENCODER = "code_predictor.", "speaker_encoder."


def load_modules(
    path: Path, config: ModelConfig, dtype: torch.dtype, device: torch.device
) -> tuple[Talker, CodePredictor]:
    """From the main `model.safetensors`, in `dtype`. Raises CheckpointError naming tensors not as published."""
    return modules_from(read_tensors(path), config, str(path), dtype, device)


def modules_from(
    tensors: Mapping[str, Tensor], config: ModelConfig, source: str, dtype: torch.dtype, device: torch.device
) -> tuple[Talker, CodePredictor]:
    """From the file's tensors, which come from `source`. Raises CheckpointError as `load_modules` does."""
    _require_known(tensors, config, source)
    prefix = TALKER_PREFIX + _PREDICTOR_IN_TALKER
    own, others = _talker_tensors(tensors), tensors_under(tensors, prefix)
    talker = loaded(lambda: Talker(config.talker), own, f"{source} ({TALKER_PREFIX}*)", dtype, device)
    predictor = loaded(lambda: CodePredictor(config.predictor), others, f"{source} ({prefix}*)", dtype, device)
    return talker, predictor


def require_talker(tensors: Mapping[str, Tensor], config: ModelConfig, source: str) -> None:
    """For who runs the talker's layers in modules of another's. Raises CheckpointError as `load_modules` does."""
    with torch.device("meta"):
        talker = Talker(config.talker)
    require_published(talker, _talker_tensors(tensors), f"{source} ({TALKER_PREFIX}*)")


def _talker_tensors(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name: tensor
        for name, tensor in tensors_under(tensors, TALKER_PREFIX).items()
        if not name.startswith(_PREDICTOR_IN_TALKER)
    }


def _require_known(tensors: Mapping[str, Tensor], config: ModelConfig, source: str) -> None:
    """The speaker encoder's tensors are another stage's; whatever else is not the talker's is nobody's."""
    known = (TALKER_PREFIX, _SPEAKER_ENCODER) if config.has_speaker_encoder else (TALKER_PREFIX,)
    strangers = sorted(name for name in tensors if not name.startswith(known))
    if strangers:
        raise CheckpointError(f"{source} has {len(strangers)} unknown tensors: {', '.join(strangers[:8])}")
