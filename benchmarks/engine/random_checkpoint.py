"""A checkpoint of published dimensions with random weights, drawn on the GPU: seconds instead of minutes.

    python benchmarks/engine/random_checkpoint.py OUT --size 1.7b [--variant custom_voice] [--device cuda:0]
        [--frames 100]

Layout, names and configuration are those of `tests/parity/make_checkpoint.py`; speed does not depend on the values.
`--frames` makes speech end by itself after so many frames on average; without it no speech ever ends, and requests run
to their `max_frames`. How long speech really is depends on what was drawn, so on the size: `--eos-gain` sets the scale
behind `--frames` itself.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
import zlib
from pathlib import Path
from types import ModuleType

import torch

MAKER = Path(__file__).resolve().parents[2] / "tests" / "parity" / "make_checkpoint.py"
# Scale of the end's row in the codec head against the mean number of frames: the end is drawn where its logit is among
# the fifty most likely of 2,049, all normal with deviation 3, at temperature 0.9 (Monte Carlo over 3,000 frames).
EOS_GAINS = {30: 2.0, 100: 1.6, 130: 1.5, 290: 1.25}
SIZES = ("tiny", "0.6b", "1.7b")


def write_random_checkpoint(out: Path, size: str, variant: str, device: torch.device, eos_gain: float) -> None:
    """The directory as `make_checkpoint` writes it, with numbers of the device's generator."""
    maker = _load_maker()
    shape = maker.shape_of(size, variant)
    codec_dir = out / "speech_tokenizer"
    codec_dir.mkdir(parents=True, exist_ok=True)
    text_ids = maker.write_text_tokenizer(out, shape.last_byte_pair)
    maker.write_json(out / "config.json", maker.model_config(shape, variant, text_ids))
    maker.write_json(out / "generation_config.json", maker.GENERATION)
    maker.write_json(out / "preprocessor_config.json", maker.TEXT_PROCESSOR)
    maker.write_json(codec_dir / "config.json", maker.codec_config(shape))
    maker.write_json(codec_dir / "configuration.json", maker.CODEC_FRAMEWORK)
    maker.write_json(codec_dir / "preprocessor_config.json", maker.AUDIO_PROCESSOR)

    class DeviceWeights(maker.Weights):
        """Same names, shapes, means and deviations."""

        def spread(self, name: str, *shape: int, std: float = 1.0, mean: float = 0.0) -> None:
            generator = torch.Generator(device).manual_seed(zlib.crc32(name.encode()))
            drawn = torch.rand(shape, generator=generator, device=device)
            self.tensors[name] = ((drawn - 0.5) * (math.sqrt(12.0) * std) + mean).to(self._dtype).cpu()

    vars(maker)["Weights"] = DeviceWeights
    maker.talker_weights(shape, variant, 0, eos_gain).write(out / "model.safetensors")
    maker.codec_weights(shape, 0).write(codec_dir / "model.safetensors")


def _load_maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("random_checkpoint_maker", MAKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


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
    write_random_checkpoint(arguments.out, arguments.size, arguments.variant, arguments.device, eos_gain)
    print(f"wrote {arguments.out} in {time.perf_counter() - started_s:.1f} s")


if __name__ == "__main__":
    main()
