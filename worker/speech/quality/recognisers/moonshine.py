"""Moonshine tiny for English, as it comes in the PyPI package `moonshine-voice` 0.1.0 (MIT): no download at run time.

Only the package's three model files are read (Jeffries et al., "Moonshine: Speech Recognition for Live Transcription
and Voice Commands", arXiv 2410.15608). Its own runtime is not used: it puts a stray word before clips that begin
with silence, and later versions no longer hold the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from worker.engine.interface import Pcm
from worker.speech.quality.recognisers.installed import moonshine_folders
from worker.speech.quality.recognisers.interface import recognisable_clips

SAMPLE_RATE_HZ = 16_000

_HEADS, _HEAD_DIM = 8, 36
_FIRST_WORD_PIECE, _START, _END, _FIRST_SPECIAL = 3, 1, 2, 32_000
_TOKENS_PER_SECOND, _EXTRA_TOKENS = 8, 8
"""Twice as many as fast speech has; a recogniser that loops stops there."""
_WORD_MARK = "\u2581"


class MoonshineTiny:
    """`Recogniser` on one core, about ten times as fast as speech. Greedy, so the same samples give the same text.

    Not thread-safe. `moonshine_folders` is not empty.
    """

    def __init__(self) -> None:
        folder = moonshine_folders()[0]
        self._encoder = _session(folder / "encoder_model.ort")
        self._decoder = _session(folder / "decoder_model_merged.ort")
        self._caches = [item.name for item in self._decoder.get_inputs() if item.name.startswith("past_key_values")]
        self._pieces = _word_pieces((folder / "tokenizer.bin").read_bytes())

    def transcribe(self, pcm: Pcm, sample_rate_hz: int) -> str:
        clips = recognisable_clips(pcm, sample_rate_hz, SAMPLE_RATE_HZ)
        return " ".join(text for clip in clips if (text := self._text(self._tokens(clip))))

    def _tokens(self, clip: Pcm) -> list[int]:
        """clip: 16 kHz. What the decoder takes as most likely, without start and end."""
        mask = np.ones((1, len(clip)), np.int64)
        heard = self._encoder.run(None, {"input_values": clip[None], "attention_mask": mask})[0]
        state = _DecoderState(np.asarray(heard), mask, self._caches)
        tokens = [_START]
        while len(tokens) <= _TOKENS_PER_SECOND * len(clip) / SAMPLE_RATE_HZ + _EXTRA_TOKENS:
            logits, *present = self._decoder.run(None, state.inputs(tokens[-1]))
            token = int(np.asarray(logits)[0, -1].argmax())
            if token == _END:
                break
            tokens.append(token)
            state.keep([np.asarray(cache) for cache in present])
        return tokens[1:]

    def _text(self, tokens: list[int]) -> str:
        pieces = [self._pieces[token] for token in tokens if _FIRST_WORD_PIECE <= token < _FIRST_SPECIAL]
        return b"".join(pieces).decode(errors="replace").replace(_WORD_MARK, " ").strip()


@dataclass(slots=True)
class _DecoderState:
    """What the merged decoder takes at each step. `caches` are those of its last step, in the model's order.

    mask (1, samples): the decoder thins it itself.
    """

    heard: NDArray[np.float32]
    mask: NDArray[np.int64]
    names: list[str]
    caches: list[NDArray[np.float32]] | None = None

    def inputs(self, token: int) -> dict[str, NDArray[np.generic]]:
        caches = self.caches or [np.zeros((1, _HEADS, 1, _HEAD_DIM), np.float32)] * len(self.names)
        return {
            "input_ids": np.array([[token]], np.int64),
            "encoder_hidden_states": self.heard,
            "encoder_attention_mask": self.mask,
            "use_cache_branch": np.array([self.caches is not None]),
            **dict(zip(self.names, caches, strict=True)),
        }

    def keep(self, present: list[NDArray[np.float32]]) -> None:
        """With a cache, the model returns no cache for the encoded audio: the first step's stays."""
        if self.caches is None:
            self.caches = present
            return
        self.caches = [
            new if ".decoder." in name else old for name, new, old in zip(self.names, present, self.caches, strict=True)
        ]


def _session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _word_pieces(content: bytes) -> list[bytes]:
    """One piece after the other, each behind a byte with its length."""
    pieces: list[bytes] = []
    place = 0
    while place < len(content):
        end = place + 1 + content[place]
        pieces.append(content[place + 1 : end])
        place = end
    return pieces
