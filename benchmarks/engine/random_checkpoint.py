"""A checkpoint of published dimensions with random weights, drawn on the GPU: seconds instead of minutes.

    python benchmarks/engine/random_checkpoint.py OUT --size 1.7b [--variant custom_voice] [--device cuda:0]
        [--frames 100]

The directory is `worker/engine/random_checkpoint/`'s; speed does not depend on the values.
`--frames` makes speech end by itself after so many frames on average; without it no speech ever ends, and requests run
to their `max_frames`. How long speech really is depends on what was drawn, so on the size: `--eos-gain` sets the scale
behind `--frames` itself.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

from worker.engine.random_checkpoint.directory import draw_checkpoint
from worker.engine.random_checkpoint.shapes import SIZES

# Scale of the end's row in the codec head against the mean number of frames: the end is drawn where its logit is among
# the fifty most likely of 2,049, all normal with deviation 3, at temperature 0.9 (Monte Carlo over 3,000 frames).
EOS_GAINS = {30: 2.0, 100: 1.6, 130: 1.5, 290: 1.25}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", choices=SIZES, default="1.7b")
    parser.add_argument("--variant", default="custom_voice")
    parser.add_argument("--device", type=torch.device, default=torch.device("cuda"))
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--frames", type=int, choices=EOS_GAINS, help="mean length of speech")
    length.add_argument("--eos-gain", type=float, default=0.0, help="scale of the end's row; larger ends sooner")
    arguments = parser.parse_args()
    started_s = time.perf_counter()
    eos_gain = arguments.eos_gain if arguments.frames is None else EOS_GAINS[arguments.frames]
    draw_checkpoint(arguments.out, arguments.size, arguments.variant, arguments.device, eos_gain)
    print(f"wrote {arguments.out} in {time.perf_counter() - started_s:.1f} s")


if __name__ == "__main__":
    main()
