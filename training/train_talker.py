"""Train the talker and its code predictor on packed codes, by the clock.

    python -m training.train_talker --packed packed.pt --tokenizer DIR --out DIR --seconds 900

Two aids that only exist because the speech is synthetic, neither part of the checkpoint: one attention head is guided
to the text token that sounds in the frame to predict, and the final state also names the four phones of that frame.
Writes DIR/talker.pt every five minutes and at the end (fp32; --resume goes on from it), and DIR/talker_log.txt.
"""

from __future__ import annotations

import argparse
import copy
import logging
import math
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.dimensions import LABELS_PER_FRAME, PHONES, TALKER
from training.talker_batches import Batch, Draw, Examples
from training.talker_model import Talker

logger = logging.getLogger(__name__)

_GUIDED_LAYER = 2
_SAVE_EVERY_S = 300.0
_EVALUATE_EVERY = 1000
_HELD_OUT = ("heldout", "test", "harvard", "everyday")
_PER_FRAME, _AUTO, _RESPELT = 0.25, 0.5, 0.35


@dataclass(frozen=True, slots=True)
class Plan:
    """positions: rows of a batch; predictor_frames: of them, frames whose later codebooks are trained; noise: share of
    codes fed that are wrong."""

    seconds: float
    learning_rate: float
    positions: int
    predictor_frames: int
    noise: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packed", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--learning-rate", type=float, default=1.5e-3)
    parser.add_argument("--positions", type=int, default=40_000)
    parser.add_argument("--predictor-frames", type=int, default=12_000)
    parser.add_argument("--noise", type=float, default=0.08)
    parser.add_argument("--resume", type=Path, help="a talker.pt to go on from")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(message)s",
        handlers=[logging.StreamHandler(), logging.FileHandler(arguments.out / "talker_log.txt")],
    )
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    packed = torch.load(arguments.packed)
    train = Examples(packed, ("train",), arguments.tokenizer, device)
    held_out = Examples(packed, _HELD_OUT, arguments.tokenizer, device)
    hours = train.num_frames.sum() * 0.08 / 3600
    logger.info("%d utterances (%.2f h) to train on, %d held out", len(train), hours, len(held_out))
    talker = Talker().to(device)
    if arguments.resume:
        talker.load_state_dict(torch.load(arguments.resume, map_location=device))
    plan = Plan(
        arguments.seconds,
        arguments.learning_rate,
        arguments.positions,
        arguments.predictor_frames,
        arguments.noise,
    )
    _Training(talker, train, held_out, plan, arguments.out / "talker.pt").run()


class _Training:
    """Owns the talker, its moving average, the phone head and the optimizer."""

    def __init__(self, talker: Talker, train: Examples, held_out: Examples, plan: Plan, path: Path) -> None:
        self._talker, self._train, self._held_out, self._plan, self._path = talker, train, held_out, plan, path
        self._device = next(talker.parameters()).device
        self._average = copy.deepcopy(talker).eval()
        width = TALKER.stack.hidden_size
        self._phone_head = nn.Linear(width, LABELS_PER_FRAME * len(PHONES)).to(self._device)
        self._optimizer = _optimizer(talker, self._phone_head, plan.learning_rate)
        self._rng = np.random.default_rng(1)
        lengths = train.num_frames + train.num_tokens.max(0) + 12
        self._ends = np.concatenate(([0], np.cumsum(lengths)))

    def run(self) -> None:
        started_s = saved_s = time.monotonic()
        figures: dict[str, list[Tensor]] = defaultdict(list)
        step = seen = 0
        while (share := (time.monotonic() - started_s) / self._plan.seconds) < 1:
            self._set_learning_rate(step, share)
            draw = self._draw()
            seen += len(draw.rows)
            for name, value in self._step(self._train.batch(draw)).items():
                figures[name].append(value.detach())
            self._follow(step)
            step += 1
            if step in (1, 20) or step % 200 == 0:
                _report(step, seen / len(self._train), time.monotonic() - started_s, figures)
                figures.clear()
            if step % _EVALUATE_EVERY == 0:
                self._evaluate()
            if time.monotonic() - saved_s > _SAVE_EVERY_S:
                self._save()
                saved_s = time.monotonic()
        self._save()
        self._evaluate()
        logger.info("%d steps, %.1f epochs in %.0f s", step, seen / len(self._train), time.monotonic() - started_s)

    def _set_learning_rate(self, step: int, share: float) -> None:
        rate = self._plan.learning_rate * min(1, (step + 1) / 300) * (0.02 + 0.49 * (1 + math.cos(math.pi * share)))
        for group in self._optimizer.param_groups:
            group["lr"] = rate

    def _draw(self) -> Draw:
        """Utterances of about the same length that fill the positions."""
        room = max(1, int(self._ends[-1]) - self._plan.positions)
        first = int(np.searchsorted(self._ends, self._rng.integers(0, room)))
        first = min(first, len(self._train) - 1)
        # The longest of them sets the width of all.
        last = first + 1
        while last < len(self._train):
            width = int(self._ends[last + 1] - self._ends[last])
            if (last + 1 - first) * width > self._plan.positions:
                break
            last += 1
        rows = np.arange(first, last)
        size = len(rows)
        return Draw(
            rows=rows,
            spelling=(self._rng.random(size) < _RESPELT).astype(np.int64),
            per_frame=self._rng.random(size) < _PER_FRAME,
            auto=self._rng.random(size) < _AUTO,
        )

    def _step(self, batch: Batch) -> Mapping[str, Tensor]:
        with torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=self._device.type == "cuda"):
            losses = _losses(self._talker, batch, self._plan.noise, self._plan.predictor_frames)
            states = losses.pop("states")
            phones = self._phone_head(states[batch.predicts]).float().view(-1, len(PHONES))
            losses["phone"] = F.cross_entropy(phones, batch.phones[batch.predicts].flatten())
        loss = losses["first"] + losses["rest"] + 0.3 * losses["guide"] + 0.3 * losses["phone"]
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self._talker.parameters(), 1.0)
        self._optimizer.step()
        return losses

    @torch.no_grad()
    def _follow(self, step: int) -> None:
        """A moving average over about the last 300 steps, shorter at the start."""
        weight = max(0.0033, 1 / (step + 1))
        torch._foreach_lerp_(list(self._average.parameters()), list(self._talker.parameters()), weight)

    @torch.no_grad()
    def _evaluate(self) -> None:
        figures: dict[str, list[Tensor]] = defaultdict(list)
        for rows in np.array_split(np.arange(len(self._held_out)), max(1, len(self._held_out) // 96)):
            none = np.zeros(len(rows), np.int64)
            batch = self._held_out.batch(Draw(rows, none, none.astype(bool), none.astype(bool)))
            with torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=self._device.type == "cuda"):
                losses = _losses(self._average, batch, 0.0, 100_000)
            losses.pop("states")
            for name, value in losses.items():
                figures[name].append(value)
        text = " ".join(f"{name} {float(torch.stack(values).mean()):.3f}" for name, values in figures.items())
        logger.info("held out: %s", text)

    def _save(self) -> None:
        temporary = self._path.with_suffix(".tmp")
        torch.save(self._average.state_dict(), temporary)
        temporary.replace(self._path)


def _optimizer(talker: Talker, phone_head: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
    matrices = [p for name, p in talker.named_parameters() if p.ndim == 2 and "embedding" not in name]
    others = [p for name, p in talker.named_parameters() if p.ndim != 2 or "embedding" in name]
    groups = [
        {"params": matrices, "weight_decay": 0.05},
        {"params": [*others, *phone_head.parameters()], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.98), fused=matrices[0].is_cuda)


def _losses(talker: Talker, batch: Batch, noise: float, predictor_frames: int) -> dict[str, Tensor]:
    """first: codebook 0; accuracy of it; rest: mean of the others; second: codebook 1; guide. And the states."""
    fed = _spoilt(batch.frames, noise)
    codec = torch.where(batch.is_frame[..., None], talker.frames(fed), talker.model.codec_embedding(batch.control))
    codec[:, :3] = 0
    hidden = talker.model.run(talker.text(batch.text) + codec, guided_layer=_GUIDED_LAYER)
    logits = talker.codec_head(hidden.states).float()
    asked = batch.first_target >= 0
    rest = _predictor_losses(talker, hidden.states, batch, noise / 2, predictor_frames)
    assert hidden.scores is not None  # noqa: S101
    return {
        "first": F.cross_entropy(logits[asked], batch.first_target[asked]),
        "accuracy": (logits.argmax(-1) == batch.first_target)[asked].float().mean(),
        "rest": rest.mean(),
        "second": rest[0],
        "guide": _guide_loss(hidden.scores, batch),
        "states": hidden.states,
    }


def _predictor_losses(talker: Talker, states: Tensor, batch: Batch, noise: float, most: int) -> Tensor:
    """One loss per codebook, told the true codebooks before it."""
    states, targets = states[batch.predicts], batch.targets[batch.predicts]
    if len(states) > most:
        some = torch.randperm(len(states), device=states.device)[:most]
        states, targets = states[some], targets[some]
    told = torch.cat((targets[:, :1], _spoilt(targets[:, 1:], noise)), 1)
    logits = talker.predictor_logits(states, told)
    losses = [F.cross_entropy(row.float(), targets[:, number + 1]) for number, row in enumerate(logits)]
    return torch.stack(losses)


def _spoilt(codes: Tensor, share: float) -> Tensor:
    """Some codes replaced by any others: the talker must go on from mistakes of its own."""
    if not share:
        return codes
    wrong = torch.rand(codes.shape, device=codes.device) < share
    return torch.where(wrong, torch.randint_like(codes, TALKER.codebook_size), codes)


def _guide_loss(scores: Tensor, batch: Batch) -> Tensor:
    """How little the guided head looks at the tokens that sound, or the one behind them."""
    places = torch.arange(scores.shape[1], device=scores.device)
    visible = places[None, :, None] >= places[None, None]
    looked = torch.log_softmax(scores.masked_fill(~visible, -1e4), -1)
    wanted = (places >= batch.sounding_first[..., None]) & (places <= batch.sounding_last[..., None] + 1) & visible
    counts = batch.predicts & wanted.any(-1)
    return -torch.logsumexp(looked.masked_fill(~wanted, -1e4), -1)[counts].mean()


def _report(step: int, epochs: float, elapsed_s: float, figures: Mapping[str, list[Tensor]]) -> None:
    text = " ".join(f"{name} {float(torch.stack(values).mean()):.3f}" for name, values in figures.items())
    logger.info("step %d epoch %.2f %.0f s %s", step, epochs, elapsed_s, text)


if __name__ == "__main__":
    main()
