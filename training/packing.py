"""Turn the speech into what the talker trains on: codes, text tokens, and which token sounds when.

    python -m training.packing --speech DIR --quantizer quantizer.pt --tokenizer DIR --out packed.pt

The text is there twice: as the tokenizer spells it, and with merges left out at random.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from training.corpus import spoken_words
from training.dimensions import FRAMES_PER_SECOND, LABELS_PER_FRAME, SPLITS
from training.features import FrameFeatures
from training.quantizer import Quantizer
from training.recordings import Stream, Utterance, load_streams
from training.text_tokenizer import load_encoder

logger = logging.getLogger(__name__)

_DROPOUTS = (None, 0.2)
_MAX_TOKENS = 200

IntArray = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Spelling:
    """ids (n,); first, last (frames,): the tokens that sound in each frame."""

    ids: IntArray
    first: IntArray
    last: IntArray


@dataclass(frozen=True, slots=True)
class Example:
    speaker: int
    split: int
    start: int
    frames: int
    phones: NDArray[np.uint8]
    spellings: tuple[Spelling, ...]


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--speech", type=Path, required=True)
    parser.add_argument("--quantizer", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--hours", type=float, default=1e9)
    arguments = parser.parse_args()
    started_s = time.monotonic()
    streams = load_streams(arguments.speech, arguments.hours)
    with multiprocessing.get_context("spawn").Pool(arguments.jobs) as pool:
        pending = pool.map_async(
            partial(_examples, tokenizer=arguments.tokenizer), [stream.utterances for stream in streams], chunksize=1
        )
        codes = _encode(streams, arguments.quantizer)
        examples = pending.get()
    logger.info("encoded and aligned in %.0f s", time.monotonic() - started_s)
    torch.save(_flat(codes, examples), arguments.out)
    frames = sum(example.frames for part in examples for example in part)
    logger.info("%d utterances, %.2f h", sum(map(len, examples)), frames / FRAMES_PER_SECOND / 3600)


@torch.no_grad()
def _encode(streams: Sequence[Stream], path: Path) -> list[IntArray]:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    extract, quantizer = FrameFeatures(device), Quantizer.load(path, device)
    return [
        quantizer.encode(extract(stream.samples(0, stream.frames, device))).cpu().numpy().astype(np.int16)
        for stream in streams
    ]


def _examples(utterances: Sequence[Utterance], tokenizer: Path) -> list[Example]:
    encoders = [load_encoder(tokenizer, dropout) for dropout in _DROPOUTS]
    made: list[Example] = []
    for utterance in utterances:
        encodings = [encoder.encode(utterance.text) for encoder in encoders]
        if max(len(encoding.ids) for encoding in encodings) > _MAX_TOKENS:
            continue
        spellings = tuple(_spelling(utterance, encoding.ids, encoding.offsets) for encoding in encodings)
        labels = utterance.phone_labels().reshape(-1, LABELS_PER_FRAME)
        made.append(
            Example(
                utterance.speaker,
                SPLITS.index(utterance.split),
                utterance.start,
                utterance.frames,
                labels,
                spellings,
            )
        )
    return made


def _spelling(utterance: Utterance, ids: Sequence[int], spans: Sequence[tuple[int, int]]) -> Spelling:
    starts, ends = _character_times(utterance)
    text = utterance.text
    # A token that begins with its blank begins to sound with the letter behind it.
    heads = [first + 1 if text[first] == " " and last - first > 1 else first for first, last in spans]
    token_starts = np.array([starts[head] for head in heads])
    token_ends = np.array([ends[last - 1] for _, last in spans])
    # A pause belongs to the token before it.
    token_ends[:-1] = np.maximum(token_ends[:-1], token_starts[1:])
    token_starts, token_ends = np.maximum.accumulate(token_starts), np.maximum.accumulate(token_ends)
    edges = np.arange(utterance.frames + 1) / FRAMES_PER_SECOND
    top = len(ids) - 1
    first = np.searchsorted(token_ends, edges[:-1], "right").clip(0, top)
    last = (np.searchsorted(token_starts, edges[1:], "left") - 1).clip(0, top)
    return Spelling(np.array(ids, np.int16), first.astype(np.int16), np.maximum(first, last).astype(np.int16))


def _character_times(utterance: Utterance) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """When each character starts and ends to sound: a word's time is shared evenly by its letters."""
    text = utterance.text
    starts, ends = np.zeros(len(text)), np.zeros(len(text))
    place, now = 0, 0.0
    for word, times in zip(spoken_words(text), utterance.tokens, strict=True):
        at = text.index(word, place)
        starts[place:at] = ends[place:at] = now
        begin, end = times or (now, now)
        lead = len(word) - len(word.lstrip("\"'(“‘"))
        core = max(1, len(word.rstrip(".,?!;:—…\"')”’")) - lead)
        edges = np.linspace(begin, end, core + 1)
        inside = slice(at + lead, min(at + lead + core, len(text)))
        size = inside.stop - inside.start
        starts[at : at + lead] = ends[at : at + lead] = begin
        starts[inside], ends[inside] = edges[:size], edges[1 : size + 1]
        starts[inside.stop : at + len(word)] = ends[inside.stop : at + len(word)] = end
        now, place = end, at + len(word)
    starts[place:] = ends[place:] = now
    return starts, ends


def _flat(codes: Sequence[IntArray], parts: Sequence[Sequence[Example]]) -> dict[str, torch.Tensor]:
    """All examples end to end, with lengths."""
    pairs = [(stream, example) for stream, part in zip(codes, parts, strict=True) for example in part]
    examples = [example for _, example in pairs]
    flat = {
        "codes": np.concatenate([stream[e.start : e.start + e.frames] for stream, e in pairs]),
        "phones": np.concatenate([e.phones for e in examples]),
        "frames": np.array([e.frames for e in examples]),
        "speakers": np.array([e.speaker for e in examples]),
        "splits": np.array([e.split for e in examples]),
    }
    for number in range(len(_DROPOUTS)):
        spellings = [e.spellings[number] for e in examples]
        flat[f"text{number}"] = np.concatenate([s.ids for s in spellings])
        flat[f"tokens{number}"] = np.array([len(s.ids) for s in spellings])
        flat[f"first{number}"] = np.concatenate([s.first for s in spellings])
        flat[f"last{number}"] = np.concatenate([s.last for s in spellings])
    return {name: torch.from_numpy(array) for name, array in flat.items()}


if __name__ == "__main__":
    main()
