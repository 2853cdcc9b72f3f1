"""The decoder in the engine's process against the decoder apart: first audio, and audio by streams, in turns.

    python benchmarks/engine/decoder_apart.py --device cuda:0 --decoder-device cuda:1 --streams 64,512

Writes a random checkpoint of the size unless `--checkpoint` names one. Each round starts one engine after the other.
Prints a line of JSON for each figure; the last ones are the medians of all rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import torch

from benchmarks.rig import FABLES, numbers, parser
from rhapsode.bench.engine.measuring import Driver, closed_loop, first_audio_ms, warm_up
from rhapsode.bench.report import read_environment
from worker.engine.interface import BuiltInSpeaker
from worker.engine.native import NativeEngine
from worker.engine.profiles import ServingProfile
from worker.engine.random_checkpoint.directory import draw_checkpoint
from worker.engine.settings import NativeEngineSettings

FRAMES = (63, 188)
MOST_S = 120.0

Figures = defaultdict[str, list[float]]


def main() -> None:
    given = _arguments()
    tell("environment", **read_environment(sys.argv).model_dump(mode="json"))
    together, apart = Figures(list), Figures(list)
    with tempfile.TemporaryDirectory(dir=given.scratch) as scratch, torch.inference_mode():
        checkpoint = given.checkpoint or Path(scratch)
        if given.checkpoint is None:
            draw_checkpoint(checkpoint, given.size, "custom_voice", torch.device(given.device), 0.0)
        for number in range(given.rounds):
            for devices, figures in (((), together), (tuple(given.decoder_device.split(",")), apart)):
                measure(checkpoint, devices, figures, given)
                tell("round", number=number, decoders=devices, **medians(figures))
    tell("one process", **medians(together))
    tell("apart", **medians(apart))


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--size", choices=("0.6b", "1.7b"), default="1.7b")
    options.add_argument("--checkpoint", type=Path, help="instead of random weights")
    options.add_argument("--scratch", type=Path, help="folder for the random checkpoint; memory-backed is fastest")
    options.add_argument("--device", default="cuda:0")
    options.add_argument("--decoder-device", default="cuda:1", help="one, or several by commas")
    options.add_argument("--profile", type=ServingProfile, default=ServingProfile.BALANCED)
    options.add_argument("--threads", type=int, default=0)
    options.add_argument("--streams", type=numbers, default=[64, 512])
    options.add_argument("--first-running", type=numbers, default=[0, 32], help="streams beside a first audio")
    options.add_argument("--first-samples", type=int, default=30)
    options.add_argument("--window", type=float, default=10.0, help="seconds of each closed loop")
    options.add_argument("--rounds", type=int, default=2)
    return options.parse_args()


def measure(checkpoint: Path, devices: tuple[str, ...], figures: Figures, given: argparse.Namespace) -> None:
    slots = max(given.streams + given.first_running) + 1
    settings = NativeEngineSettings(
        checkpoint, slots, 4, given.device, given.threads, given.profile, decoder_devices=devices
    )
    engine = NativeEngine(settings)
    words = FABLES.read_text(encoding="utf-8").split()
    driver = Driver(engine, BuiltInSpeaker(engine.info.speakers[0]), words, FRAMES)
    warm_up(driver)
    for running in given.first_running:
        figures[f"first_audio_ms_beside_{running}"] += first_audio_ms(driver, running, given.first_samples, MOST_S)
    for streams in given.streams:
        window = closed_loop(driver, streams, given.window, MOST_S + given.window)
        figures[f"audio_s_per_s_at_{streams}"].append(window.audio_s_per_s)
    engine.close()


def medians(figures: Figures) -> dict[str, float]:
    return {name: round(statistics.median(values), 2) for name, values in figures.items()}


def tell(what: str, **figures: object) -> None:
    print(json.dumps({"what": what, **figures}), flush=True)


if __name__ == "__main__":
    main()
