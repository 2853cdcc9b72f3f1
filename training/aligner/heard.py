"""Speak rows of the corpus with several voices and write what the aligner would hear, with the sound of every 10 ms.

    python -m training.aligner.heard --corpus corpus.tsv --voices UNPACKED --out DIR

One process for each voice writes DIR/<voice>-<part>.npz: features (frames, bands) float16, sounds (frames,) uint8.
Each utterance is there twice: as it was spoken, and with another speed and pitch, noise, an echo, a narrow band.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.corpus.rows import read_rows
from training.speech.voices import FestivalSlt, FliteVoice, FloatArray, Spoken, Voice, VoiceFailed
from training.steps import Unusable, run_step, step_parser
from worker.speech.alignment.features import FRAME_S, features
from worker.speech.alignment.sounds import SILENCE, SOUNDS

logger = logging.getLogger(__name__)

VOICES: Mapping[str, Callable[[Path], Voice]] = {
    "festival-slt": FestivalSlt,
    "rms": lambda unpacked: FliteVoice(unpacked, "rms"),
    "slt": lambda unpacked: FliteVoice(unpacked, "slt"),
    "kal16": lambda unpacked: FliteVoice(unpacked, "kal16"),
}
"""flite's awb is none of them: the benchmark takes it for a voice that was never heard."""

_OTHER_NAMES = {
    "ax": "ah",
    "ix": "ih",
    "axr": "er",
    "el": "l",
    "em": "m",
    "en": "n",
    "dx": "t",
    "nx": "n",
    "h#": SILENCE,
}
_PART_UTTERANCES = 100
_MOST_S = 16.0
_FULL_SCALE = 32_767
_SLOWEST, _FASTEST = 0.78, 1.28


def main(argv: Sequence[str] | None = None) -> None:
    arguments = _parser().parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    texts = [row.spoken for row in read_rows(arguments.corpus) if row.split == "train"]
    processes = [
        multiprocessing.Process(
            target=_hear,
            args=(
                name,
                texts[number :: len(VOICES)][: arguments.utterances],
                arguments.voices,
                arguments.out,
            ),
        )
        for number, name in enumerate(VOICES)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        raise Unusable("a voice ended before its time, see above")


def _parser() -> argparse.ArgumentParser:
    parser = step_parser(__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--voices", type=Path, required=True, help="folder where the Debian packages were unpacked")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--utterances", type=int, default=400, help="of each voice")
    return parser


def _hear(name: str, texts: Sequence[str], unpacked: Path, out: Path) -> None:
    """In a process of its own."""
    voice, rng = VOICES[name](unpacked), random.Random(name)
    heard: list[tuple[FloatArray, NDArray[np.uint8]]] = []
    seconds = 0.0
    for text in texts:
        try:
            spoken = voice.speak(text)
        except VoiceFailed:
            continue
        if len(spoken.samples) > _MOST_S * spoken.rate_hz:
            continue
        seconds += len(spoken.samples) / spoken.rate_hz
        heard += [plain(spoken), disguised(spoken, rng)]
        if len(heard) >= 2 * _PART_UTTERANCES:
            _write(out, name, heard)
            heard = []
    if heard:
        _write(out, name, heard)
    logger.info("%s: %.2f h", name, seconds / 3600)


def _write(out: Path, name: str, heard: Sequence[tuple[FloatArray, NDArray[np.uint8]]]) -> None:
    part = len(list(out.glob(f"{name}-*.npz"))) + 1
    np.savez(
        out / f"{name}-{part:03}.npz",
        features=np.concatenate([each for each, _ in heard]).astype(np.float16),
        sounds=np.concatenate([each for _, each in heard]),
    )


def plain(spoken: Spoken) -> tuple[FloatArray, NDArray[np.uint8]]:
    heard = features(spoken.samples * np.float32(_FULL_SCALE), spoken.rate_hz)
    return heard, _labels(spoken, len(heard), 1.0)


def disguised(spoken: Spoken, rng: random.Random) -> tuple[FloatArray, NDArray[np.uint8]]:
    """As another voice in another room might have said it."""
    noise = np.random.default_rng(rng.getrandbits(32))
    speed = rng.uniform(_SLOWEST, _FASTEST)
    pcm = spoken.samples
    if rng.random() < 0.4:
        pcm = _echoed(pcm, spoken.rate_hz, rng.uniform(0.05, 0.35), noise)
    if rng.random() < 0.6:
        level = float(np.sqrt(np.mean(np.square(pcm)))) * 10 ** (-rng.uniform(8, 45) / 20)
        pcm = pcm + np.float32(level) * noise.standard_normal(len(pcm)).astype(np.float32)
    heard = features(pcm * np.float32(_FULL_SCALE), spoken.rate_hz * speed)
    if rng.random() < 0.35:
        heard = _narrowed(heard, rng.randint(24, 39))
    blurred = (heard + 0.12 * noise.standard_normal(heard.shape)).astype(np.float32)
    return blurred, _labels(spoken, len(blurred), speed)


def _echoed(pcm: FloatArray, rate_hz: int, decay_s: float, noise: np.random.Generator) -> FloatArray:
    """A room that takes `decay_s` to lose 60 dB."""
    times = np.arange(int(decay_s * rate_hz)) / rate_hz
    tail = noise.standard_normal(len(times)) * np.exp(-6.9 * times / decay_s) * 0.06
    tail[0] = 1.0
    size = 1 << (len(pcm) + len(tail)).bit_length()
    echoed = np.fft.irfft(np.fft.rfft(pcm, size) * np.fft.rfft(tail, size), size)[: len(pcm)]
    return echoed.astype(np.float32)


def _narrowed(heard: FloatArray, bands: int) -> FloatArray:
    """Without what lies above: such bands are as low as in silence, all the time."""
    narrow = heard.copy()
    narrow[:, bands:] = 0.0
    return narrow


def _labels(spoken: Spoken, frames: int, speed: float) -> NDArray[np.uint8]:
    """The sound in the middle of each frame."""
    ends = np.array([end / speed for _, end in spoken.phones])
    names = [_OTHER_NAMES.get(name, name) for name, _ in spoken.phones] + [SILENCE]
    sounds = np.array([SOUNDS.index(name) for name in names], np.uint8)
    middles = (np.arange(frames) + 0.5) * FRAME_S
    return sounds[np.searchsorted(ends, middles)]


if __name__ == "__main__":
    run_step(main)
