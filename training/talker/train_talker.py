"""Train the talker and its code predictor on packed codes, by the clock.

    python -m training.talker.train_talker --packed PACKED --tokenizer DIR --out DIR --seconds 900

PACKED is where `training.talker.packing` writes; what appears there during the training is taken in as it comes.

Two aids that only exist because the speech is synthetic, neither part of the checkpoint: one attention head is guided
to the text token that sounds in the frame to predict, and the final state also names the four phones of that frame.
Writes DIR/last.pt every two minutes and at the end, DIR/talker.pt whenever the held-out loss of codebook 0 is the
lowest so far (both fp32 and moving averages; --resume goes on from either), and DIR/talker_log.txt.
"""

from __future__ import annotations

import argparse
import copy
import logging
import math
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from training.device import best_device
from training.dimensions import LABELS_PER_FRAME, PHONES, SPEAKERS, TALKER, control_id
from training.steps import log_file, run_step, step_parser
from training.talker.talker_batches import Batch, Draw, Examples
from training.talker.talker_model import Talker

logger = logging.getLogger(__name__)

_GUIDED_LAYER = 2
_SAVE_EVERY_S = 120.0
_LOOK_EVERY_S = 20.0
_EVALUATE_EVERY = 500
_HELD_OUT = ("heldout",)
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
    optimizer: Literal["adamw", "muon"]


def main(argv: Sequence[str] | None = None) -> None:
    arguments = _parser().parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    with log_file(arguments.out / "talker_log.txt"):
        _train(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = step_parser(__doc__)
    parser.add_argument("--packed", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--learning-rate", type=float, default=1.5e-3)
    parser.add_argument("--positions", type=int, default=40_000)
    parser.add_argument("--predictor-frames", type=int, default=12_000)
    parser.add_argument("--noise", type=float, default=0.08)
    parser.add_argument("--dropout", type=float, default=0.05)
    parser.add_argument("--optimizer", choices=("adamw", "muon"), default="adamw")
    parser.add_argument("--compile", action="store_true", help="worth its minute on a GPU")
    parser.add_argument("--resume", type=Path, help="weights to go on from")
    return parser


def _train(arguments: argparse.Namespace) -> None:
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    device = best_device()
    supply = _Supply(arguments.packed, arguments.tokenizer, device)
    supply.wait_for_the_first()
    talker = Talker(dropout=arguments.dropout).to(device)
    if arguments.resume:
        talker.load_state_dict(_weights(arguments.resume))
    training = _Training(talker, supply, _plan(arguments), arguments.out)
    if arguments.compile:
        talker.compile_layers()
    training.run()


def _plan(arguments: argparse.Namespace) -> Plan:
    return Plan(
        arguments.seconds,
        arguments.learning_rate,
        arguments.positions,
        arguments.predictor_frames,
        arguments.noise,
        arguments.optimizer,
    )


def _weights(path: Path) -> dict[str, Tensor]:
    """Of a training or of an exported model."""
    if path.suffix != ".safetensors":
        return torch.load(path, map_location="cpu")
    return {name.removeprefix("talker."): t for name, t in load_file(path).items() if name.startswith("talker.")}


class _Supply:
    """What is packed so far."""

    def __init__(self, folder: Path, tokenizer: Path, device: torch.device) -> None:
        self._folder = folder
        self._taken: set[Path] = set()
        self.train = Examples(("train",), tokenizer, device)
        self.held_out = Examples(_HELD_OUT, tokenizer, device)

    def wait_for_the_first(self) -> None:
        """Until something is packed that may be trained on."""
        logger.info("waiting for utterances in %s", self._folder)
        while not len(self.train):
            if not self.take_in():
                time.sleep(1)

    def take_in(self) -> bool:
        """Whether there was anything new."""
        new = sorted(set(self._folder.glob("*.pt")) - self._taken)
        if not new:
            return False
        packed = [torch.load(path) for path in new]
        self.train.add(packed)
        self.held_out.add(packed)
        self._taken.update(new)
        hours = self.train.num_frames.sum() * 0.08 / 3600
        logger.info("%d utterances (%.2f h) to train on, %d held out", len(self.train), hours, len(self.held_out))
        return True


class _Training:
    """Owns the talker, its moving average, the phone head and the optimizer."""

    def __init__(self, talker: Talker, supply: _Supply, plan: Plan, out: Path) -> None:
        self._talker, self._supply, self._plan, self._out = talker, supply, plan, out
        self._device = next(talker.parameters()).device
        self._average = copy.deepcopy(talker).eval()
        width = TALKER.stack.hidden_size
        self._phone_head = nn.Linear(width, LABELS_PER_FRAME * len(PHONES)).to(self._device)
        self._optimizers = _optimizers(talker, self._phone_head, plan)
        self._rng = np.random.default_rng(1)
        self._lowest = math.inf
        self._measure()

    def _measure(self) -> None:
        train = self._supply.train
        lengths = train.num_frames + train.num_tokens.max(0) + 12
        self._ends = np.concatenate(([0], np.cumsum(lengths)))

    def run(self) -> None:
        started_s = saved_s = looked_s = time.monotonic()
        figures: dict[str, list[Tensor]] = defaultdict(list)
        step, epochs = 0, 0.0
        while (share := (time.monotonic() - started_s) / self._plan.seconds) < 1:
            self._set_learning_rate(step, share)
            draw = self._draw()
            epochs += len(draw.rows) / len(self._supply.train)
            for name, value in self._step(self._supply.train.batch(draw)).items():
                figures[name].append(value.detach())
            self._follow(step)
            step += 1
            if step in (1, 20) or step % 200 == 0:
                _report(step, epochs, time.monotonic() - started_s, figures)
                figures.clear()
            if step % _EVALUATE_EVERY == 0:
                self._evaluate()
            if time.monotonic() - saved_s > _SAVE_EVERY_S:
                self._save("last.pt")
                saved_s = time.monotonic()
            if time.monotonic() - looked_s > _LOOK_EVERY_S:
                if self._supply.take_in():
                    self._measure()
                looked_s = time.monotonic()
        self._save("last.pt")
        self._evaluate()
        logger.info("%d steps, %.1f epochs in %.0f s", step, epochs, time.monotonic() - started_s)

    def _set_learning_rate(self, step: int, share: float) -> None:
        rate = self._plan.learning_rate * min(1, (step + 1) / 300) * (0.02 + 0.49 * (1 + math.cos(math.pi * share)))
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate

    def _draw(self) -> Draw:
        """Utterances of about the same length that fill the positions."""
        room = max(1, int(self._ends[-1]) - self._plan.positions)
        first = int(np.searchsorted(self._ends, self._rng.integers(0, room)))
        count = len(self._ends) - 1
        first = min(first, count - 1)
        # The longest of them sets the width of all.
        last = first + 1
        while last < count:
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
        self._talker.zero_grad(set_to_none=True)
        self._phone_head.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self._talker.parameters(), 1.0)
        for optimizer in self._optimizers:
            optimizer.step()
        return losses

    @torch.no_grad()
    def _follow(self, step: int) -> None:
        """A moving average over about the last 300 steps, shorter at the start."""
        weight = max(0.0033, 1 / (step + 1))
        follow = get_ema_multi_avg_fn(1 - weight)
        follow(list(self._average.parameters()), list(self._talker.parameters()), step)

    @torch.no_grad()
    def _evaluate(self) -> None:
        figures: dict[str, list[Tensor]] = defaultdict(list)
        held_out = self._supply.held_out
        if not len(held_out):
            return
        for rows in np.array_split(np.arange(len(held_out)), max(1, len(held_out) // 96)):
            none = np.zeros(len(rows), np.int64)
            batch = held_out.batch(Draw(rows, none, none.astype(bool), none.astype(bool)))
            with torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=self._device.type == "cuda"):
                losses = _losses(self._average, batch, 0.0, 100_000)
            losses.pop("states")
            for name, value in losses.items():
                figures[name].append(value)
        means = {name: float(torch.stack(values).mean()) for name, values in figures.items()}
        logger.info("held out: %s", " ".join(f"{name} {value:.3f}" for name, value in means.items()))
        if means["first"] < self._lowest:
            self._lowest = means["first"]
            self._save("talker.pt")

    def _save(self, name: str) -> None:
        temporary = self._out / "new.tmp"
        torch.save(self._average.state_dict(), temporary)
        temporary.replace(self._out / name)


def _optimizers(talker: Talker, phone_head: nn.Module, plan: Plan) -> list[torch.optim.Optimizer]:
    """Muon for the matrices if it is asked for, AdamW for all else; both take the same learning rate."""
    matrices = [p for name, p in talker.named_parameters() if p.ndim == 2 and "embedding" not in name]
    heads = {id(p) for name, p in talker.named_parameters() if "head" in name}
    others = [p for name, p in talker.named_parameters() if p.ndim != 2 or "embedding" in name]
    groups = [{"params": [*others, *phone_head.parameters()], "weight_decay": 0.0}]
    found: list[torch.optim.Optimizer] = []
    if plan.optimizer == "muon":
        inner = [p for p in matrices if id(p) not in heads]
        found.append(torch.optim.Muon(inner, lr=plan.learning_rate, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"))
        matrices = [p for p in matrices if id(p) in heads]
    groups.append({"params": matrices, "weight_decay": 0.05})
    found.append(torch.optim.AdamW(groups, lr=plan.learning_rate, betas=(0.9, 0.98), fused=matrices[0].is_cuda))
    return found


def _losses(talker: Talker, batch: Batch, noise: float, predictor_frames: int) -> dict[str, Tensor]:
    """first: codebook 0; accuracy of it; rest: mean of the others; second: codebook 1; guide. And the states."""
    fed = _spoilt(batch.frames, noise)
    inputs = talker.inputs(batch.text, _control(talker, batch.control, noise), batch.is_frame, fed)
    hidden = talker.model.run(inputs, guided_layer=_GUIDED_LAYER)
    logits = talker.codec_head(hidden.states).float()
    asked = batch.first_target >= 0
    rest = _predictor_losses(talker, hidden.states, batch, noise / 2, predictor_frames)
    assert hidden.scores is not None  # noqa: S101  (a layer is guided)
    return {
        "first": F.cross_entropy(logits[asked], batch.first_target[asked]),
        "accuracy": (logits.argmax(-1) == batch.first_target)[asked].float().mean(),
        "rest": rest.mean(),
        "second": rest[0],
        "guide": _guide_loss(hidden.scores, batch),
        "states": hidden.states,
    }


def _control(talker: Talker, control: Tensor, noise: float) -> Tensor:
    """Embeddings (B, T, C). With noise, every second speaker is blended with up to 0.4 of the other: what lies between
    two voices, as the speaker encoder may put it, is to sound like the nearer one."""
    rows = talker.model.codec_embedding(control)
    if not noise:
        return rows
    first = control_id("first_speaker")
    other = torch.where(control >= first, 2 * first + len(SPEAKERS) - 1 - control, control)
    share = (torch.rand(len(control), 1, 1, device=control.device) * 0.8 - 0.4).clamp(min=0)
    return torch.lerp(rows, talker.model.codec_embedding(other), share.to(rows.dtype))


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
    run_step(main)
