"""Turn the speech into what the talker trains on: codes, text tokens, and which token sounds when.

    python -m training.talker.packing --speech DIR --quantizer quantizer.pt --tokenizer DIR --out PACKED --watch 600

Writes PACKED/<number>.pt, one for all parts of the speech that were new when it looked; while the synthesis goes on
(--watch seconds) it keeps looking. --discard removes the samples of training utterances that it has turned to codes:
a hundred hours of them take 17 GB. The text is there twice: as the tokenizer spells it, and with merges left out at
random.
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

from training.codec.features import FrameFeatures
from training.codec.quantizer import Quantizer
from training.corpus.corpus import spoken_words
from training.corpus.text_tokenizer import load_encoder
from training.dimensions import FRAMES_PER_SECOND, LABELS_PER_FRAME, SPLITS
from training.speech.recordings import Stream, Utterance, new_streams

logger = logging.getLogger(__name__)

_DROPOUTS = (None, 0.2)
_MAX_TOKENS = 200
_PARTS_AT_ONCE = 32

IntArray = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Spelling:
    """ids (n,); first, last (frames,): the tokens that sound in each frame."""

    ids: IntArray
    first: IntArray
    last: IntArray


@dataclass(frozen=True, slots=True)
class Example:
    number: int
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
    parser.add_argument("--watch", type=float, default=0, help="look for new parts for this many seconds")
    parser.add_argument("--discard", action="store_true")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    deadline_s = time.monotonic() + arguments.watch
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    encoder = _Encoder(arguments.quantizer, device)
    align = partial(_examples, tokenizer=arguments.tokenizer)
    done: set[str] = set()
    hours = 0.0
    with multiprocessing.get_context("spawn").Pool(arguments.jobs) as pool:
        while True:
            late = time.monotonic() > deadline_s
            streams = new_streams(arguments.speech, done, _PARTS_AT_ONCE)
            if streams:
                pending = pool.map_async(align, [stream.utterances for stream in streams], chunksize=1)
                codes = [encoder.codes(stream) for stream in streams]
                examples = pending.get()
                hours += _write(arguments.out, codes, examples)
                logger.info("%.2f h", hours)
                if arguments.discard:
                    _discard(arguments.speech, streams)
                done.update(stream.name for stream in streams)
            elif late:
                return
            else:
                time.sleep(1)


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
                utterance.number,
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
        "numbers": np.array([e.number for e in examples]),
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
