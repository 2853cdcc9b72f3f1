"""The synthesised speech as it lies on disk: streams of whole frames and what is said where."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.dimensions import LABELS_PER_FRAME, SAMPLE_RATE_HZ, SAMPLES_PER_FRAME
from training.speech.utterances import Utterance
from training.steps import Unusable

_NO_LIMIT = 1 << 40


@dataclass(frozen=True, slots=True)
class Stream:
    """One speaker and synthesis job: utterances without gaps from frame 0. `pcm` is int16 (frames * 1920,)."""

    name: str
    pcm: NDArray[np.int16]
    utterances: tuple[Utterance, ...]

    @property
    def frames(self) -> int:
        last = self.utterances[-1]
        return last.start + last.frames

    def samples(self, first: int, last: int, device: torch.device) -> Tensor:
        """float32 samples of frames [first, last)."""
        part = self.pcm[first * SAMPLES_PER_FRAME : last * SAMPLES_PER_FRAME]
        return torch.from_numpy(np.array(part)).to(device).float() / 32768

    def phone_labels(self) -> NDArray[np.uint8]:
        """(frames, 4)."""
        labels = np.concatenate([utterance.phone_labels() for utterance in self.utterances])
        return labels.reshape(-1, LABELS_PER_FRAME)


def load_streams(folder: Path, max_hours: float = 1e9) -> list[Stream]:
    """The parts that are complete, also while the synthesis goes on; `max_hours` in all, taken evenly.

    Raises Unusable where there is none.
    """
    indices = sorted(folder.glob("*.jsonl"))
    share = int(max_hours * 3600 * SAMPLE_RATE_HZ / SAMPLES_PER_FRAME / max(1, len(indices)))
    streams = [stream for index in indices if (stream := _load_stream(index, share)) is not None]
    if not streams:
        raise Unusable(f"{folder} holds no speech that is complete")
    return streams


def new_streams(folder: Path, done: Collection[str], most: int) -> list[Stream]:
    """At most so many complete parts whose names are not among those done, oldest first."""
    indices = [index for index in folder.glob("*.jsonl") if index.stem not in done]
    indices.sort(key=lambda index: index.stat().st_mtime)
    return [stream for index in indices[:most] if (stream := _load_stream(index, _NO_LIMIT)) is not None]


def _load_stream(index: Path, max_frames: int) -> Stream | None:
    samples = index.with_suffix(".pcm")
    if samples.stat().st_size < SAMPLES_PER_FRAME * 2:
        return None
    pcm = np.memmap(samples, dtype="<i2", mode="r")
    written = len(pcm) // SAMPLES_PER_FRAME
    utterances: list[Utterance] = []
    for utterance in _read_index(index):
        if utterance.start + utterance.frames > min(written, max_frames):
            break
        utterances.append(utterance)
    return Stream(index.stem, pcm, tuple(utterances)) if utterances else None


def _read_index(index: Path) -> Iterator[Utterance]:
    for line in index.read_text(encoding="utf-8").splitlines(keepends=True):
        if not line.endswith("\n"):
            return
        record = json.loads(line)
        yield Utterance(
            number=record["id"],
            split=record["split"],
            text=record["text"],
            speaker=record["speaker"],
            start=record["start"],
            frames=record["frames"],
            phones=tuple((name, end) for name, end in record["phones"]),
            tokens=tuple(t and (t[0], t[1]) for t in record["tokens"]),
        )
