"""Train the codec's decoder from fixed codes, by the clock.

    python -m training.codec.train_decoder --speech DIR --quantizer quantizer.pt --out DIR --seconds 1200

Writes DIR/decoder.pt every five minutes and at the end (fp32; a new run goes on from it with --resume), and
DIR/decoder_log.txt.
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

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from training.codec.decoder_model import FEATURES_PER_FRAME, CodecDecoder
from training.codec.features import FrameFeatures
from training.codec.listening_losses import Discriminator, MelLoss, adversarial_loss, discriminator_loss, matching_loss
from training.codec.quantizer import Quantizer
from training.device import best_device
from training.dimensions import CODEC, SAMPLES_PER_FRAME
from training.speech.recordings import load_streams
from training.steps import Unusable, log_file, run_step, step_parser

logger = logging.getLogger(__name__)

_CONTEXT_FRAMES = 64
"""The transformer hears these, and the loss a part of them."""
_LEAST_FRAMES = _CONTEXT_FRAMES + 2
_SAVE_EVERY_S = 300.0
_DISCRIMINATOR_ALONE_STEPS = 50
# How often an item is decoded from its first codebooks alone: the talker's later codes are its least certain.
_SHORTENED = 0.2
_LEAST_CODEBOOKS = 4


@dataclass(frozen=True, slots=True)
class Plan:
    """crop: frames that the loss hears; adversarial_from: share of the time after which the discriminator joins."""

    seconds: float
    learning_rate: float
    batch: int
    crop: int
    adversarial_from: float


@dataclass(frozen=True, slots=True)
class Speech:
    """samples: int16 (T * 1920,); codes: int16 (T, Q)."""

    samples: Tensor
    codes: Tensor


def main(argv: Sequence[str] | None = None) -> None:
    arguments = _parser().parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    with log_file(arguments.out / "decoder_log.txt"):
        _train(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = step_parser(__doc__)
    parser.add_argument("--speech", type=Path, required=True)
    parser.add_argument("--quantizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--hours", type=float, default=8, help="of speech at most")
    parser.add_argument("--resume", type=Path, help="a decoder.pt to go on from")
    parser.add_argument("--learning-rate", type=float, default=8e-4)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--crop", type=int, default=12, help="frames that the loss hears")
    parser.add_argument("--adversarial-from", type=float, default=0.35)
    return parser


def _train(arguments: argparse.Namespace) -> None:
    torch.manual_seed(2)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    device = best_device()
    quantizer = Quantizer.load(arguments.quantizer, device)
    speech = _load(arguments.speech, arguments.hours, quantizer, device)
    decoder = CodecDecoder().to(device)
    decoder.books.copy_(_balanced(quantizer, speech))
    if arguments.resume:
        decoder.load_state_dict(torch.load(arguments.resume, map_location=device))
    plan = Plan(arguments.seconds, arguments.learning_rate, arguments.batch, arguments.crop, arguments.adversarial_from)
    _Training(decoder, speech, plan, arguments.out / "decoder.pt").run()


@torch.no_grad()
def _load(folder: Path, hours: float, quantizer: Quantizer, device: torch.device) -> Speech:
    extract = FrameFeatures(device)
    samples, codes = [], []
    for stream in load_streams(folder, hours):
        sound = stream.samples(0, stream.frames, device)
        codes.append(quantizer.encode(extract(sound)).to(torch.int16))
        samples.append((sound * 32768).to(torch.int16))
    speech = Speech(torch.cat(samples), torch.cat(codes))
    if len(speech.codes) < _LEAST_FRAMES:
        raise Unusable(f"{len(speech.codes)} frames of speech are too few: {_LEAST_FRAMES} are one example")
    logger.info("%.2f h of speech", len(speech.codes) * 0.08 / 3600)
    return speech


def _balanced(quantizer: Quantizer, speech: Speech) -> Tensor:
    """The codebooks with every direction scaled towards the same size: the decoder learns from all of them."""
    sample = speech.codes[torch.randperm(len(speech.codes), device=speech.codes.device)[:50_000]].long()
    total = sum(quantizer.books[number][sample[:, number]] for number in range(CODEC.num_quantizers))
    assert isinstance(total, Tensor)  # noqa: S101  (there is a codebook)
    spread = total.std(0).clamp(min=1e-3)
    return quantizer.books * spread.pow(-0.75) / spread.pow(0.25).mean()


class _Training:
    """Owns the decoder, its moving average, the discriminator and both optimizers."""

    def __init__(self, decoder: CodecDecoder, speech: Speech, plan: Plan, path: Path) -> None:
        self._decoder, self._speech, self._plan, self._path = decoder, speech, plan, path
        self._device = speech.codes.device
        self._average = copy.deepcopy(decoder).eval()
        self._discriminator = Discriminator().to(self._device)
        self._mel = MelLoss().to(self._device)
        fused = self._device.type == "cuda"
        self._optimizer = torch.optim.AdamW(
            decoder.parameters(), lr=plan.learning_rate, betas=(0.8, 0.99), weight_decay=1e-3, fused=fused
        )
        self._judge_optimizer = torch.optim.AdamW(
            self._discriminator.parameters(), lr=4e-4, betas=(0.8, 0.99), fused=fused
        )
        self._judged_steps = 0

    def run(self) -> None:
        started_s = saved_s = time.monotonic()
        figures: dict[str, list[Tensor]] = defaultdict(list)
        step = 0
        while (share := (time.monotonic() - started_s) / self._plan.seconds) < 1:
            self._set_learning_rate(step, share)
            for name, value in self._step(is_judged=share >= self._plan.adversarial_from).items():
                figures[name].append(value.detach())
            self._follow(step)
            step += 1
            if step in (1, 20) or step % 250 == 0:
                _report(step, time.monotonic() - started_s, figures)
                figures.clear()
            if time.monotonic() - saved_s > _SAVE_EVERY_S:
                self._save()
                saved_s = time.monotonic()
        self._save()
        logger.info("%d steps in %.0f s", step, time.monotonic() - started_s)

    def _set_learning_rate(self, step: int, share: float) -> None:
        rate = self._plan.learning_rate * min(1, (step + 1) / 200) * (0.02 + 0.49 * (1 + math.cos(math.pi * share)))
        for group in self._optimizer.param_groups:
            group["lr"] = rate

    def _step(self, *, is_judged: bool) -> Mapping[str, Tensor]:
        theirs, ours = self._pair()
        figures = {"mel": self._mel(ours, theirs)}
        loss = 15 * figures["mel"]
        if is_judged:
            figures |= self._judge(theirs, ours)
            if self._judged_steps > _DISCRIMINATOR_ALONE_STEPS:
                loss = loss + figures["adversarial"] + 4 * figures["matching"]
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self._decoder.parameters(), 10.0)
        self._optimizer.step()
        return figures

    def _pair(self) -> tuple[Tensor, Tensor]:
        """What was spoken and what the decoder makes of its codes, both (B, 1, crop * 1920)."""
        plan, codes = self._plan, self._speech.codes
        starts = torch.randint(0, len(codes) - _CONTEXT_FRAMES - 1, (plan.batch,), device=self._device)
        # One frame before the crop warms the convolutions up and is dropped.
        crop = int(torch.randint(0, _CONTEXT_FRAMES - plan.crop, (1,)))
        places = torch.arange(_CONTEXT_FRAMES, device=self._device)
        span = torch.arange(plan.crop * SAMPLES_PER_FRAME, device=self._device)
        context = codes[starts[:, None] + places].long().transpose(1, 2)
        theirs = self._speech.samples[(starts[:, None] + crop + 1) * SAMPLES_PER_FRAME + span].float() / 32768
        shortened = torch.rand(plan.batch, device=self._device) < _SHORTENED
        some = torch.randint(_LEAST_CODEBOOKS, CODEC.num_quantizers, (plan.batch,), device=self._device)
        kept = torch.where(shortened, some, CODEC.num_quantizers)
        with torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=self._device.type == "cuda"):
            features = self._decoder.features(self._decoder.vectors(context, kept))
            first, last = crop * FEATURES_PER_FRAME, (crop + plan.crop + 1) * FEATURES_PER_FRAME
            ours = self._decoder.samples(features[..., first:last])[..., SAMPLES_PER_FRAME:]
        return theirs[:, None], ours.float()

    def _judge(self, theirs: Tensor, ours: Tensor) -> dict[str, Tensor]:
        """One step of the discriminator; then what it says about `ours`."""
        self._judged_steps += 1
        batch = len(theirs)
        amp = torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=self._device.type == "cuda")
        with amp:
            both = self._discriminator(torch.cat((theirs, ours.detach())))
        loss = discriminator_loss([s[:batch] for s, _ in both], [s[batch:] for s, _ in both])
        self._judge_optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._judge_optimizer.step()
        self._discriminator.requires_grad_(requires_grad=False)
        with amp:
            made = self._discriminator(ours)
        self._discriminator.requires_grad_(requires_grad=True)
        real = [[layer[:batch].detach() for layer in seen] for _, seen in both]
        return {
            "judge": loss,
            "adversarial": adversarial_loss([score for score, _ in made]),
            "matching": matching_loss(real, [seen for _, seen in made]),
        }

    @torch.no_grad()
    def _follow(self, step: int) -> None:
        """A moving average over about the last 500 steps, shorter at the start."""
        weight = max(0.002, 1 / (step + 1))
        follow = get_ema_multi_avg_fn(1 - weight)
        follow(list(self._average.parameters()), list(self._decoder.parameters()), step)

    def _save(self) -> None:
        temporary = self._path.with_suffix(".tmp")
        torch.save(self._average.state_dict(), temporary)
        temporary.replace(self._path)


def _report(step: int, elapsed_s: float, figures: Mapping[str, list[Tensor]]) -> None:
    text = " ".join(f"{name} {float(torch.stack(values).mean()):.4f}" for name, values in figures.items())
    logger.info("step %d %.0f s %s", step, elapsed_s, text)


if __name__ == "__main__":
    run_step(main)
