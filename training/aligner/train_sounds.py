"""Train the network that names the sound of every 10 ms.

    python -m training.aligner.train_sounds --heard DIR --out worker/speech/alignment/sounds.safetensors

The last part of each voice is only looked at.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional

from training.aligner.model import TrainedStack, num_parameters
from training.steps import Unusable, run_step, step_parser
from worker.speech.alignment.features import NUM_BANDS
from worker.speech.alignment.sounds import SOUNDS

logger = logging.getLogger(__name__)

CHANNELS = 64
_CROP, _BATCH = 400, 24
_RATE = 2e-3
_SMOOTHING = 0.05
_REPORT_STEPS = 100


def main(argv: Sequence[str] | None = None) -> None:
    arguments = _parser().parse_args(argv)
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    heard, sounds, held_heard, held_sounds = _parts(arguments.heard)
    model = TrainedStack(NUM_BANDS, CHANNELS, len(SOUNDS))
    logger.info("%.2f h, %d parameters", len(sounds) / 360_000, num_parameters(model))
    train(model, heard, sounds, arguments.steps, arguments.seed)
    logger.info("right in what was held back: %.3f", accuracy(model, held_heard, held_sounds))
    counts = torch.bincount(sounds.long(), minlength=len(SOUNDS)).float() + 1
    tensors = {name: each.half().contiguous() for name, each in model.state_dict().items()}
    # How often each sound is, so that a rare one is not held for unlikely where the text has it.
    tensors["log_prior"] = torch.log(counts / counts.sum()).half()
    save_file(tensors, arguments.out)


def _parser() -> argparse.ArgumentParser:
    parser = step_parser(__doc__)
    parser.add_argument("--heard", type=Path, required=True, help="what training.aligner.heard wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1_200)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="another number rounds otherwise")
    return parser


def _parts(folder: Path) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What is trained on and what is held back, features and sounds of each."""
    paths = sorted(folder.glob("*.npz"))
    if len(paths) < 2:
        raise Unusable(f"{folder} holds fewer than two parts of what training.aligner.heard writes")
    lasts = {path.name.rsplit("-", 1)[0]: path for path in paths}
    held = [path for path in lasts.values() if len(paths) > len(lasts)] or paths[-1:]
    return *_joined([path for path in paths if path not in held]), *_joined(held)


def _joined(paths: Sequence[Path]) -> tuple[Tensor, Tensor]:
    parts = [np.load(path) for path in paths]
    heard = np.concatenate([part["features"] for part in parts])
    return torch.from_numpy(heard), torch.from_numpy(np.concatenate([part["sounds"] for part in parts]))


def train(model: TrainedStack, heard: Tensor, sounds: Tensor, steps: int, seed: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), _RATE, weight_decay=1e-3)
    draw = torch.Generator().manual_seed(seed)
    total = 0.0
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = _RATE * min(1.0, step / 50) * (1 - (step - 1) / steps)
        loss = _loss(model, *_crops(heard, sounds, draw))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += float(loss.detach())
        if step % _REPORT_STEPS == 0:
            logger.info("step %d: %.4f", step, total / _REPORT_STEPS)
            total = 0.0


def _crops(heard: Tensor, sounds: Tensor, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    last = max(1, len(sounds) - _CROP)
    starts = torch.randint(last, (_BATCH,), generator=draw).tolist()
    crops = torch.stack([heard[start : start + _CROP].float() for start in starts])
    return crops.transpose(1, 2), torch.stack([sounds[start : start + _CROP].long() for start in starts])


def _loss(model: TrainedStack, heard: Tensor, sounds: Tensor) -> Tensor:
    return functional.cross_entropy(model(heard), sounds, label_smoothing=_SMOOTHING)


@torch.no_grad()
def accuracy(model: TrainedStack, heard: Tensor, sounds: Tensor) -> float:
    right = 0
    for start in range(0, len(sounds), 10_000):
        scores = model(heard[start : start + 10_000].float().T[None])[0]
        right += int((scores.argmax(0) == sounds[start : start + 10_000]).sum())
    return right / len(sounds)


if __name__ == "__main__":
    run_step(main)
