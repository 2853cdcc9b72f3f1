"""Small heads that guess the code behind the one just drawn, so that one pass of the code predictor can check guesses.

They lie beside the checkpoint they were trained on, in a file that names it: `rhapsode distil-draft` writes it. What a
head guesses never changes a code, only how many passes a frame takes.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from worker.engine.requests.sampling import Draw, StepSampling, likeliest

logger = logging.getLogger(__name__)

DRAFTS_FOLDER = "predictor_drafts"
"""A separate folder: vLLM takes every file of weights beside the model's for a part of it."""
DRAFTS_FILE = f"{DRAFTS_FOLDER}/heads.safetensors"
_CHECKPOINT_FILE, _CHECKPOINT_KEY = "model.safetensors", "checkpoint_sha256"


@dataclass(frozen=True, slots=True)
class HeadWeights:
    """All heads: head p guesses code p + 1 of a frame from code p and the predictor's state after it.

    state: (H, rank, width), code: (H, V, rank), logits: (H, V, rank), for H = Q - 1 heads; head 0 stands behind the
    talker's hidden state in the predictor's width, for codebook 1.
    """

    state: Tensor
    code: Tensor
    logits: Tensor

    def scores(self, position: int, states: Tensor, codes: Tensor) -> Tensor:
        """states (N, width), codes int64 (N,) -> logits (N, V) of the next codebook."""
        inner = F.linear(states, self.state[position]) + self.code[position][codes]
        return F.linear(F.silu(inner), self.logits[position])


class DraftHeads:
    """Heads as they are run, for one row."""

    def __init__(self, weights: HeadWeights) -> None:
        self._weights = weights

    def guesses(
        self, position: int, state: Tensor, code: Tensor, noise: Tensor, row: StepSampling, draw: Draw, count: int
    ) -> Tensor:
        """The `count` codes that codebook `position` + 1 is likeliest drawn as with this noise: int64 (count,).

        state (1, width): behind `position`; code int64 (1,): drawn from it; noise (1, V), as for that codebook's draw.
        """
        return likeliest(self._weights.scores(position, state, code), noise, row, draw, count)[0]


def checkpoint_revision(checkpoint: Path) -> str:
    with (checkpoint / _CHECKPOINT_FILE).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_heads(weights: HeadWeights, checkpoint: Path) -> Path:
    """Beside the checkpoint, in sixteen bits."""
    path = checkpoint / DRAFTS_FILE
    tensors = {"state": weights.state, "code": weights.code, "logits": weights.logits}
    path.parent.mkdir(exist_ok=True)
    halves = {name: tensor.half().contiguous() for name, tensor in tensors.items()}
    save_file(halves, path, metadata={_CHECKPOINT_KEY: checkpoint_revision(checkpoint)})
    return path


def read_heads(checkpoint: Path, num_heads: int, num_lanes: int, width: int) -> HeadWeights | None:
    """None, which the log tells: there are none, they are another checkpoint's, or they are not as written above."""
    path = checkpoint / DRAFTS_FILE
    if not path.exists():
        logger.info("drafts are off: none lie beside the checkpoint", extra={"path": str(path)})
        return None
    try:
        with safe_open(path, framework="pt") as file:
            revision = (file.metadata() or {}).get(_CHECKPOINT_KEY)
            tensors = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118  # not a mapping
    except (SafetensorError, OSError) as error:
        logger.warning("drafts are off: the file cannot be read", extra={"path": str(path), "error": str(error)})
        return None
    if revision != checkpoint_revision(checkpoint):
        logger.warning("drafts are off: they were made for other weights", extra={"path": str(path)})
        return None
    if not _are_heads(tensors, num_heads, num_lanes, width):
        logger.warning("drafts are off: the file's tensors do not fit the checkpoint", extra={"path": str(path)})
        return None
    logger.info("drafts are on for a row alone", extra={"path": str(path)})
    return HeadWeights(tensors["state"], tensors["code"], tensors["logits"])


def _are_heads(tensors: dict[str, Tensor], num_heads: int, num_lanes: int, width: int) -> bool:
    if tensors.keys() != {"state", "code", "logits"} or tensors["state"].dim() != 3:
        return False
    rank = tensors["state"].shape[1]
    expected = {"state": (rank, width), "code": (num_lanes, rank), "logits": (num_lanes, rank)}
    return all(
        tuple(tensors[name].shape) == (num_heads, *shape) and bool(tensors[name].isfinite().all())
        for name, shape in expected.items()
    )
