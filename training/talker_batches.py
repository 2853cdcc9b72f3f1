"""Batches of the talker: both prompt layouts, what to predict, and which text token sounds when."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.dimensions import SPLITS, control_id
from training.text_tokenizer import load_encoder, special_ids

# Rows before the text: role, four or three language tags, speaker, start of text.
_HEAD = 9
_SPELLINGS = 2
_NO_TARGET = -100

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Draw:
    """Which utterances, and how each is presented; all (B,).

    spelling: 0 or 1. per_frame: one text row per frame instead of all ahead. auto: no language is named.
    """

    rows: Rows
    spelling: Rows
    per_frame: NDArray[np.bool_]
    auto: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Batch:
    """text, control ids and whether a row is fed a frame instead, (B, T); frames fed and to predict, (B, T, Q).

    first_target: (B, T) code of codebook 0 or the end, `-100` where nothing is asked; predicts (B, T): a frame is.
    phones (B, T, 4); sounding_first, sounding_last (B, T): rows of the text that sounds in the frame to predict.
    """

    text: Tensor
    control: Tensor
    is_frame: Tensor
    frames: Tensor
    targets: Tensor
    predicts: Tensor
    first_target: Tensor
    phones: Tensor
    sounding_first: Tensor
    sounding_last: Tensor


class Examples:
    """The utterances of some splits, padded, on the device, shortest first."""

    def __init__(
        self, packed: dict[str, Tensor], splits: tuple[str, ...], tokenizer: Path, device: torch.device
    ) -> None:
        specials, encoder = special_ids(tokenizer), load_encoder(tokenizer)
        self._pad, self._bos, self._eos = (specials[name] for name in ("<tts_pad>", "<tts_text_bos>", "<tts_text_eod>"))
        role = [specials["<|im_start|>"], encoder.encode("assistant").ids[0], encoder.encode("\n").ids[0]]
        self._role = torch.tensor(role, device=device)
        self._heads = torch.tensor([_tags("think", "think_bos", "english", "think_eos"),
                                    _tags("nothink", "think_bos", "think_eos")], device=device)  # fmt: skip
        self._device = device
        arrays = {name: tensor.numpy() for name, tensor in packed.items()}
        chosen = np.nonzero(np.isin(arrays["splits"], [SPLITS.index(name) for name in splits]))[0]
        chosen = chosen[np.argsort(arrays["frames"][chosen], kind="stable")]
        self.num_frames: Rows = arrays["frames"][chosen]
        self.num_tokens: Rows = np.stack([arrays[f"tokens{n}"][chosen] for n in range(_SPELLINGS)])
        self._frames, self._tokens = (torch.from_numpy(a).to(device) for a in (self.num_frames, self.num_tokens))
        self._speakers = torch.from_numpy(arrays["speakers"][chosen]).to(device)
        per_frame = _Ragged(arrays["frames"], chosen)
        self._codes = per_frame.padded(arrays["codes"], device)
        self._phones = per_frame.padded(arrays["phones"], device)
        self._first, self._last = (
            torch.stack([per_frame.padded(arrays[f"{name}{n}"], device) for n in range(_SPELLINGS)])
            for name in ("first", "last")
        )
        width = int(self.num_tokens.max())
        self._text = torch.stack(
            [_Ragged(arrays[f"tokens{n}"], chosen, width).padded(arrays[f"text{n}"], device) for n in range(_SPELLINGS)]
        )

    def __len__(self) -> int:
        return len(self.num_frames)

    def batch(self, draw: Draw) -> Batch:
        device = self._device
        head_h = _HEAD - draw.auto.astype(np.int64)
        # The row of the start of speech: behind the text and its end, or behind the head at once.
        start_h = np.where(draw.per_frame, head_h, head_h + self.num_tokens[draw.spelling, draw.rows] + 1)
        longest = int((start_h + self.num_frames[draw.rows] + 1).max())
        places = torch.arange(-(-longest // 16) * 16, device=device)[None]
        rows, spelling, head, start = (
            torch.from_numpy(a).to(device) for a in (draw.rows, draw.spelling, head_h, start_h)
        )
        frames, tokens = self._frames[rows][:, None], self._tokens[spelling, rows][:, None]
        fed = places - start[:, None] - 1
        asked = fed + 1
        at = asked.clamp(0, self._codes.shape[1] - 1)
        predicts = (asked >= 0) & (asked < frames)
        targets = _gather(self._codes[rows].long(), at)
        first_target = torch.where(predicts, targets[..., 0], _NO_TARGET)
        return Batch(
            text=self._text_rows(places, head[:, None], tokens, rows, spelling),
            control=self._control_rows(places, head, start, rows, torch.from_numpy(draw.auto).to(device)),
            is_frame=(fed >= 0) & (fed < frames),
            frames=_gather(self._codes[rows].long(), fed.clamp(0, self._codes.shape[1] - 1)),
            targets=targets,
            predicts=predicts,
            first_target=torch.where(asked == frames, control_id("eos"), first_target),
            phones=_gather(self._phones[rows].long(), at),
            sounding_first=torch.gather(self._first[spelling, rows].long(), 1, at) + head[:, None],
            sounding_last=torch.gather(self._last[spelling, rows].long(), 1, at) + head[:, None],
        )

    def _text_rows(self, places: Tensor, head: Tensor, tokens: Tensor, rows: Tensor, spelling: Tensor) -> Tensor:
        """Role, pads, start of text, text, end of text, pads."""
        at = places - head
        text = torch.gather(self._text[spelling, rows].long(), 1, at.clamp(0, self._text.shape[2] - 1))
        text = torch.where(at == tokens, self._eos, torch.where((at < 0) | (at > tokens), self._pad, text))
        text = torch.where(at == -1, self._bos, text)
        return torch.cat((self._role.expand(len(rows), 3), text[:, 3:]), 1)

    def _control_rows(self, places: Tensor, head: Tensor, start: Tensor, rows: Tensor, auto: Tensor) -> Tensor:
        """Tags, speaker, pads, start of speech."""
        control = torch.full((len(rows), places.shape[1]), control_id("pad"), device=self._device)
        control[:, :_HEAD] = self._heads[auto.long()]
        each = torch.arange(len(rows), device=self._device)
        control[each, head - 2] = control_id("first_speaker") + self._speakers[rows]
        control[each, start] = control_id("bos")
        return control


class _Ragged:
    """Where the chosen ones of many end-to-end sequences lie."""

    def __init__(self, lengths: Rows, chosen: Rows, width: int = 0) -> None:
        starts = np.concatenate(([0], np.cumsum(lengths)))[chosen]
        width = width or int(lengths[chosen].max())
        self._at = starts[:, None] + np.minimum(np.arange(width)[None], lengths[chosen][:, None] - 1)

    def padded(self, flat: NDArray[np.generic], device: torch.device) -> Tensor:
        """(N, width, ...), the last entry repeated."""
        return torch.from_numpy(flat[self._at]).to(device)


def _tags(*names: str) -> list[int]:
    tags = [control_id(name) for name in names]
    return [control_id("pad")] * 3 + tags + [control_id("pad")] * (_HEAD - 3 - len(tags))


def _gather(values: Tensor, at: Tensor) -> Tensor:
    """values (B, F, n), at (B, T) -> (B, T, n)."""
    return torch.gather(values, 1, at[..., None].expand(*at.shape, values.shape[2]))
