"""Moonshine tiny (ONNX) as a judge, and the word error rate.

The weights come in the npm package @moonshine-ai/moonshine-js (MIT), the tokenizer in PyPI useful-moonshine-onnx.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

_LAYERS, _HEADS, _HEAD_DIM = 6, 8, 36
_START, _END = 1, 2
_TOKENS_PER_SECOND = 8
_EDGE = 4_800
"""Samples of silence put at both ends: without them the first and last words suffer."""

_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


@dataclass(frozen=True, slots=True)
class WordErrors:
    errors: int
    words: int


class Recogniser:
    """One thread each; not thread-safe."""

    def __init__(self, folder: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._encoder, self._decoder = (
            onnxruntime.InferenceSession(str(folder / name), options, providers=["CPUExecutionProvider"])
            for name in ("encoder_model.onnx", "decoder_model_merged.onnx")
        )
        self._names = [item.name for item in self._decoder.get_inputs()]
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def transcribe(self, samples: NDArray[np.float32]) -> str:
        """samples: 16 kHz, at most about 30 s."""
        silence = np.zeros(_EDGE, np.float32)
        sound = np.concatenate((silence, samples, silence))[None]
        (state,) = _run(self._encoder, {self._encoder.get_inputs()[0].name: sound})
        past = {name: np.zeros((0, _HEADS, 1, _HEAD_DIM), np.float32) for name in self._names if "past" in name}
        tokens = [_START]
        for step in range(int(_TOKENS_PER_SECOND * sound.shape[1] / 16_000) + 8):
            inputs = {"input_ids": [[tokens[-1]]], "encoder_hidden_states": state, "use_cache_branch": [step > 0]}
            logits, *present = _run(self._decoder, {**inputs, **past})
            tokens.append(int(logits[0, -1].argmax()))
            if tokens[-1] == _END:
                break
            for name, value in zip(past, present, strict=True):
                if step == 0 or "decoder" in name:
                    past[name] = value
        return self._tokenizer.decode(tokens)


def _run(session: onnxruntime.InferenceSession, inputs: Mapping[str, object]) -> list[NDArray[np.float32]]:
    """All outputs, of models that have dense ones only."""
    return cast("list[NDArray[np.float32]]", session.run(None, dict(inputs)))


def word_errors(wanted: str, heard: str) -> WordErrors:
    """Edit distance in words; numbers spelled, marks and case ignored."""
    reference, hypothesis = _words(wanted), _words(heard)
    row = list(range(len(hypothesis) + 1))
    for number, word in enumerate(reference, 1):
        previous, row[0] = row[0], number
        for place, other in enumerate(hypothesis, 1):
            previous, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, previous + (word != other))
    return WordErrors(row[-1], len(reference))


def _words(text: str) -> list[str]:
    text = text.lower().replace("\u2019", "'").replace("-", " ").replace("%", " percent ")
    text = re.sub(r"(\d),(\d{3})", r"\1\2", text)
    text = re.sub(r"\d+", lambda match: f" {_spelled(int(match.group()))} ", text)
    text = re.sub(r"[^a-z' ]", " ", text)
    return [word for word in (word.strip("'") for word in text.split()) if word]


def _spelled(number: int) -> str:
    if number < 20:
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10] + (f" {_ONES[number % 10]}" if number % 10 else "")
    if number < 1000:
        return f"{_ONES[number // 100]} hundred" + (f" {_spelled(number % 100)}" if number % 100 else "")
    if number < 1_000_000:
        return f"{_spelled(number // 1000)} thousand" + (f" {_spelled(number % 1000)}" if number % 1000 else "")
    return " ".join(_ONES[int(digit)] for digit in str(number))
