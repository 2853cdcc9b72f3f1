"""Which token of a text sounds when. Knows no torch, because each process that aligns would load it.

A text is there twice: as the tokenizer spells it, and with merges left out at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.corpus.rows import spoken_words
from training.corpus.text_tokenizer import load_encoder
from training.dimensions import FRAMES_PER_SECOND, LABELS_PER_FRAME, SPLITS
from training.speech.utterances import Utterance

_DROPOUTS = (None, 0.2)
NUM_SPELLINGS = len(_DROPOUTS)
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
    number: int
    speaker: int
    split: int
    start: int
    frames: int
    phones: NDArray[np.uint8]
    spellings: tuple[Spelling, ...]


def aligned(utterances: Sequence[Utterance], tokenizer: Path) -> list[Example]:
    """Utterances of too many tokens are left out."""
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
