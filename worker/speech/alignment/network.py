"""The two networks that come with the package, loaded once in a process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from worker.engine.convolutions import ConvolutionStack, Floats, load_stack

FOLDER = Path(__file__).with_name("weights")


@dataclass(frozen=True, slots=True)
class EnglishSounds:
    """hears: features to scores of the sounds. log_prior: how likely each is of itself. spells: letters to sounds."""

    hears: ConvolutionStack
    log_prior: Floats
    spells: ConvolutionStack


@cache
def english_sounds() -> EnglishSounds:
    return load_networks(FOLDER)


def load_networks(folder: Path) -> EnglishSounds:
    hearing: Mapping[str, NDArray[np.float16]] = load_file(folder / "sounds.safetensors")
    spelling: Mapping[str, NDArray[np.float16]] = load_file(folder / "spelling.safetensors")
    return EnglishSounds(load_stack(hearing), hearing["log_prior"].astype(np.float32), load_stack(spelling))
