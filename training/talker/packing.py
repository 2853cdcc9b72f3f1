"""Turn the speech into what the talker trains on: codes, text tokens, and which token sounds when.

    python -m training.talker.packing --speech DIR --quantizer quantizer.pt --tokenizer DIR --out PACKED --watch 600

Writes PACKED/<number>.pt, one for all parts of the speech that were new when it looked; while the synthesis goes on
(--watch seconds) it keeps looking. --discard removes the samples of training utterances that it has turned to codes:
a hundred hours of them take 17 GB."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch

from training.codec.features import FrameFeatures
from training.codec.quantizer import Quantizer
from training.device import best_device
from training.dimensions import FRAMES_PER_SECOND
from training.speech.recordings import Stream, new_streams
from training.steps import run_step, step_parser
from training.talker.alignment import NUM_SPELLINGS, Example, IntArray, aligned

logger = logging.getLogger(__name__)

_PARTS_AT_ONCE = 32


def main(argv: Sequence[str] | None = None) -> None:
    arguments = _parser().parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    deadline_s = time.monotonic() + arguments.watch
    encoder = _Encoder(arguments.quantizer, best_device())
    align = partial(aligned, tokenizer=arguments.tokenizer)
    done: set[str] = set()
    hours = 0.0
    with multiprocessing.get_context("spawn").Pool(arguments.jobs) as pool:
        while True:
            is_last = time.monotonic() > deadline_s
            streams = new_streams(arguments.speech, done, _PARTS_AT_ONCE)
            if streams:
                pending = pool.map_async(align, [stream.utterances for stream in streams], chunksize=1)
                codes = [encoder.codes(stream) for stream in streams]
                hours += _write(arguments.out, codes, pending.get())
                logger.info("%.2f h", hours)
                if arguments.discard:
                    _discard(arguments.speech, streams)
                done.update(stream.name for stream in streams)
            elif is_last:
                return
            else:
                time.sleep(1)


def _parser() -> argparse.ArgumentParser:
    parser = step_parser(__doc__)
    parser.add_argument("--speech", type=Path, required=True)
    parser.add_argument("--quantizer", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--watch", type=float, default=0, help="look for new parts for this many seconds")
    parser.add_argument("--discard", action="store_true")
    return parser


class _Encoder:
    def __init__(self, quantizer: Path, device: torch.device) -> None:
        self._extract, self._quantizer, self._device = FrameFeatures(device), Quantizer.load(quantizer, device), device

    @torch.no_grad()
    def codes(self, stream: Stream) -> IntArray:
        features = self._extract(stream.samples(0, stream.frames, self._device))
        return self._quantizer.encode(features).cpu().numpy().astype(np.int16)


def _write(out: Path, codes: Sequence[IntArray], examples: Sequence[Sequence[Example]]) -> float:
    """Hours written."""
    temporary = out / "new.tmp"
    torch.save(_flat(codes, examples), temporary)
    temporary.replace(out / f"{len(list(out.glob('*.pt'))):04d}.pt")
    return sum(example.frames for part in examples for example in part) / FRAMES_PER_SECOND / 3600


def _discard(speech: Path, streams: Sequence[Stream]) -> None:
    """The samples of parts that hold nothing but what is trained on."""
    for stream in streams:
        if all(utterance.split == "train" for utterance in stream.utterances):
            (speech / f"{stream.name}.pcm").unlink()


def _flat(codes: Sequence[IntArray], parts: Sequence[Sequence[Example]]) -> dict[str, torch.Tensor]:
    """All examples end to end, with lengths."""
    pairs = [(stream, example) for stream, part in zip(codes, parts, strict=True) for example in part]
    examples = [example for _, example in pairs]
    flat = {
        "codes": np.concatenate([stream[e.start : e.start + e.frames] for stream, e in pairs]),
        "phones": np.concatenate([e.phones for e in examples]),
        "numbers": np.array([e.number for e in examples]),
        "frames": np.array([e.frames for e in examples]),
        "speakers": np.array([e.speaker for e in examples]),
        "splits": np.array([e.split for e in examples]),
    }
    for number in range(NUM_SPELLINGS):
        spellings = [e.spellings[number] for e in examples]
        flat[f"text{number}"] = np.concatenate([s.ids for s in spellings])
        flat[f"tokens{number}"] = np.array([len(s.ids) for s in spellings])
        flat[f"first{number}"] = np.concatenate([s.first for s in spellings])
        flat[f"last{number}"] = np.concatenate([s.last for s in spellings])
    return {name: torch.from_numpy(array) for name, array in flat.items()}


if __name__ == "__main__":
    run_step(main)
