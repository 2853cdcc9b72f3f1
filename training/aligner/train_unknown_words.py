"""Train the network that says the words that no dictionary of Kokoro's phones has.

    pip download --no-deps misaki==0.9.4
    python -m training.aligner.train_unknown_words --wheel misaki-0.9.4-py3-none-any.whl \\
        --out worker/engine/kokoro/phones/weights/unknown_words.safetensors

Learns from the words of misaki that people have checked, in both accents. A vowel and its stress are one sound (CTC).
1,500 words are held out, and with them the words of their families: none begins as a held one does.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import random
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional

from training.aligner.misaki_dictionaries import entries, open_wheel
from training.aligner.model import TrainedStack, num_parameters
from training.steps import run_step, step_parser
from worker.engine.kokoro.phones.dictionary import DEFAULT, Accent
from worker.engine.kokoro.phones.unknown_words import (
    INPUTS,
    MOST_LETTERS,
    NOTHING,
    PRIMARY,
    SLOTS,
    SOUNDS,
    read,
    spelling,
)

logger = logging.getLogger(__name__)

CHANNELS = 128

_HELD_OUT = 1_500
_ENDING = 3
"""Letters at the end of a held word that its family need not share."""
_BATCH = 192
_RATE = 3e-3
_REPORT_STEPS = 100
_WORD = re.compile(r"[A-Z]?[a-z][a-z']*")
_HELD = re.compile(r"[a-z]{5,14}")
_SOUND = re.compile(r"[ˈˌ]?[^ˈˌː]ː?")

Entry = tuple[str, Accent, tuple[int, ...]]


def main(argv: Sequence[str] | None = None) -> None:
    arguments = _parser().parse_args(argv)
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    with open_wheel(arguments.wheel) as wheel:
        kept, held = split([entry for accent in Accent for entry in read_words(wheel, accent)])
    model = TrainedStack(INPUTS, CHANNELS, SLOTS * len(SOUNDS))
    logger.info("%d words, %d parameters", len(kept), num_parameters(model))
    train(model, kept, arguments.steps, arguments.seed)
    save_file({name: each.half().contiguous() for name, each in model.state_dict().items()}, arguments.out)
    for accent in Accent:
        report(model, [entry for entry in held if entry[1] is accent], accent)


def _parser() -> argparse.ArgumentParser:
    parser = step_parser(__doc__)
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="another number rounds otherwise")
    return parser


def read_words(wheel: zipfile.ZipFile, accent: Accent) -> Iterator[Entry]:
    """Words of letters that the slots have room for."""
    for word, entry in entries(wheel, accent, "gold").items():
        phones = entry if isinstance(entry, str) else entry[DEFAULT]
        if _WORD.fullmatch(word) and len(word) <= MOST_LETTERS and phones:
            found = _SOUND.findall(phones)
            if not set(found) <= set(SOUNDS):
                continue
            sounds = tuple(map(SOUNDS.index, found))
            repeats = sum(one == other for one, other in itertools.pairwise(sounds))
            if len(sounds) + repeats <= SLOTS * len(word):
                yield word.lower(), accent, sounds


def split(words_of_both: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """The words to learn from, and those to be judged by."""
    words = sorted({word for word, *_ in words_of_both if _HELD.fullmatch(word)})
    held = set(random.Random(1).sample(words, min(_HELD_OUT, len(words) // 10)))
    stems = {word[:-_ENDING] if len(word) > 2 * _ENDING else word for word in held}
    shortest = min(map(len, stems), default=1)
    kept = [
        entry
        for entry in words_of_both
        if entry[0] not in held and not any(entry[0][:end] in stems for end in range(shortest, len(entry[0]) + 1))
    ]
    return kept, [entry for entry in words_of_both if entry[0] in held]


def train(model: TrainedStack, kept: Sequence[Entry], steps: int, seed: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), _RATE, weight_decay=1e-3)
    draw = torch.Generator().manual_seed(seed)
    total = 0.0
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = _RATE * min(1.0, step / 50) * (1 - (step - 1) / steps)
        chosen = torch.randint(len(kept), (_BATCH,), generator=draw).tolist()
        loss = _loss(model, [kept[number] for number in chosen])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += float(loss.detach())
        if step % _REPORT_STEPS == 0:
            logger.info("step %d: %.4f", step, total / _REPORT_STEPS)
            total = 0.0


def _loss(model: TrainedStack, batch: Sequence[Entry]) -> Tensor:
    """Minus the logarithm of the words' probability, a word."""
    letters = [torch.from_numpy(spelling(word, accent)) for word, accent, _ in batch]
    spelt = torch.nn.utils.rnn.pad_sequence(letters, batch_first=True)
    scores = model(spelt.transpose(1, 2)).transpose(1, 2).reshape(len(batch), -1, len(SOUNDS))
    return functional.ctc_loss(
        functional.log_softmax(scores, -1).transpose(0, 1),
        torch.tensor([sound for *_, sounds in batch for sound in sounds]),
        torch.tensor([len(word) * SLOTS for word, *_ in batch]),
        torch.tensor([len(sounds) for *_, sounds in batch]),
        blank=NOTHING,
        reduction="sum",
    ) / len(batch)


def report(model: TrainedStack, held: Sequence[Entry], accent: Accent) -> None:
    wrong = sounds = right = stressed = 0
    for word, _, wanted in held:
        with torch.no_grad():
            scores = model(torch.from_numpy(spelling(word, accent)).T[None])[0].T.reshape(-1, len(SOUNDS))
        said, truth = read(scores.numpy()), "".join(SOUNDS[sound] for sound in wanted)
        plain, plain_truth = (_NO_STRESS.sub("", each) for each in (said, truth))
        wrong += _distance(plain, plain_truth)
        sounds += len(plain_truth)
        right += plain == plain_truth
        stressed += plain == plain_truth and said.find(PRIMARY) == truth.find(PRIMARY)
    shares = (100 * wrong / sounds, 100 * right / len(held), 100 * stressed / len(held))
    logger.info("%s: of %d words, %.1f %% of the phones are wrong, %.0f %% of the words right, %.0f %% with the stress",
                accent, len(held), *shares)  # fmt: skip


_NO_STRESS = re.compile("[ˈˌ]")


def _distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


if __name__ == "__main__":
    run_step(main)
