"""Train the network that guesses how a word sounds.

    python -m training.aligner.train_spelling --voices UNPACKED --out worker/speech/alignment/spelling.safetensors

Learns from the CMU dictionary of Debian's festlex-cmu (BSD), an entry a line: ("cat" nil (((k ae t) 1))).
A letter has two slots for sounds; which of them says what is left to the network (CTC).
"""

from __future__ import annotations

import argparse
import itertools
import logging
import re
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional

from training.aligner.model import TrainedStack, num_parameters
from training.steps import Unusable, run_step, step_parser
from worker.speech.alignment.pronunciation import LETTERS, MOST_LETTERS, NOTHING, SLOTS, spelling
from worker.speech.alignment.sounds import SOUNDS

logger = logging.getLogger(__name__)

DICTIONARY = Path("usr/share/festival/dicts/cmu/cmudict-0.4.out")
CHANNELS = 64

_ENTRY = re.compile(r'\("([a-z\']+)" \S+ \((.*)\)\)')
_SOUND = re.compile(r"[a-z]+")
_OTHER_NAMES = {"ax": "ah", "ix": "ih", "axr": "er", "el": "l", "em": "m", "en": "n", "dx": "t"}
_HELD_BACK = 50
_BATCH = 128
_RATE = 3e-3
_REPORT_STEPS = 500

Entry = tuple[str, tuple[int, ...]]


def main(argv: Sequence[str] | None = None) -> None:
    arguments = _parser().parse_args(argv)
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    entries = read_dictionary(arguments.voices / DICTIONARY)
    held, kept = entries[::_HELD_BACK], [each for number, each in enumerate(entries) if number % _HELD_BACK]
    model = TrainedStack(len(LETTERS), CHANNELS, SLOTS * len(SOUNDS))
    logger.info("%d words, %d parameters", len(kept), num_parameters(model))
    train(model, kept, arguments.steps, arguments.seed)
    with torch.no_grad():
        logger.info("loss of the words held back: %.3f a word", float(_loss(model, held)))
    save_file({name: each.half().contiguous() for name, each in model.state_dict().items()}, arguments.out)


def _parser() -> argparse.ArgumentParser:
    parser = step_parser(__doc__)
    parser.add_argument("--voices", type=Path, required=True, help="folder where the Debian packages were unpacked")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="another number rounds otherwise")
    return parser


def read_dictionary(path: Path) -> list[Entry]:
    """Words of letters alone that the slots have room for, as places in `SOUNDS`."""
    found = [entry for line in path.read_text(encoding="utf-8").splitlines() if (entry := _entry(line)) is not None]
    if not found:
        raise Unusable(f"{path} holds no entry of a dictionary")
    return found


def _entry(line: str) -> Entry | None:
    match = _ENTRY.match(line)
    if match is None:
        return None
    word, names = match[1], _SOUND.findall(match[2])
    sounds = tuple(SOUNDS.index(_OTHER_NAMES.get(name, name)) for name in names)
    repeats = sum(one == other for one, other in itertools.pairwise(sounds))
    fits = 0 < len(sounds) + repeats <= SLOTS * len(word) and len(word) <= MOST_LETTERS
    return (word, sounds) if fits else None


def train(model: TrainedStack, entries: Sequence[Entry], steps: int, seed: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), _RATE, weight_decay=1e-3)
    draw = torch.Generator().manual_seed(seed)
    total = 0.0
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = _RATE * min(1.0, step / 50) * (1 - (step - 1) / steps)
        chosen = torch.randint(len(entries), (_BATCH,), generator=draw).tolist()
        loss = _loss(model, [entries[number] for number in chosen])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += float(loss.detach())
        if step % _REPORT_STEPS == 0:
            logger.info("step %d: %.4f", step, total / _REPORT_STEPS)
            total = 0.0


def _loss(model: TrainedStack, entries: Sequence[Entry]) -> Tensor:
    """Minus the logarithm of the words' probability, a word."""
    longest = max(len(word) for word, _ in entries)
    spelt = torch.stack([torch.from_numpy(spelling(word, longest)) for word, _ in entries])
    scores = model(spelt.transpose(1, 2)).transpose(1, 2).reshape(len(entries), longest * SLOTS, len(SOUNDS))
    return functional.ctc_loss(
        functional.log_softmax(scores, -1).transpose(0, 1),
        torch.tensor([sound for _, sounds in entries for sound in sounds]),
        torch.tensor([len(word) * SLOTS for word, _ in entries]),
        torch.tensor([len(sounds) for _, sounds in entries]),
        blank=NOTHING,
        reduction="sum",
    ) / len(entries)


if __name__ == "__main__":
    run_step(main)
