"""Batches of the talker: both prompt layouts, what to predict, and which text token sounds when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.corpus.text_tokenizer import load_encoder, special_ids
from training.dimensions import SPLITS, control_id

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
    """The utterances of some splits, end to end on the device, in order of their length; more may be added."""

    def __init__(self, splits: tuple[str, ...], tokenizer: Path, device: torch.device) -> None:
        specials, encoder = special_ids(tokenizer), load_encoder(tokenizer)
        self._pad, self._bos, self._eos = (specials[name] for name in ("<tts_pad>", "<tts_text_bos>", "<tts_text_eod>"))
        role = [specials["<|im_start|>"], encoder.encode("assistant").ids[0], encoder.encode("\n").ids[0]]
        self._role = torch.tensor(role, device=device)
        self._heads = torch.tensor([_tags("think", "think_bos", "english", "think_eos"),
                                    _tags("nothink", "think_bos", "think_eos")], device=device)  # fmt: skip
        self._device = device
        self._splits = [SPLITS.index(name) for name in splits]
        self.num_frames: Rows = np.zeros(0, np.int64)
        self.num_tokens: Rows = np.zeros((_SPELLINGS, 0), np.int64)
        self._flat: dict[str, Tensor] = {}

    def __len__(self) -> int:
        return len(self.num_frames)

    def add(self, packed: Sequence[Mapping[str, Tensor]]) -> None:
        """What `training.talker.packing` wrote. Puts all utterances in order anew."""
        flat = {name: torch.cat([part[name] for part in packed]).to(self._device) for name in packed[0]}
        flat |= {name: torch.cat((self._flat[name], flat[name])) for name in self._flat}
        self._flat = flat
        names = ("splits", "frames", *(f"tokens{n}" for n in range(_SPELLINGS)))
        table = {name: flat[name].cpu().numpy() for name in names}
        chosen = np.nonzero(np.isin(table["splits"], self._splits))[0]
        chosen = chosen[np.argsort(table["frames"][chosen], kind="stable")]
        self.num_frames = table["frames"][chosen]
        self.num_tokens = np.stack([table[f"tokens{n}"][chosen] for n in range(_SPELLINGS)])
        self._frames, self._tokens = (torch.from_numpy(a).to(self._device) for a in (self.num_frames, self.num_tokens))
        self._speakers = flat["speakers"][torch.from_numpy(chosen).to(self._device)]
        self._first_frame = self._starts(table["frames"], chosen)
        self._first_token = torch.stack([self._starts(table[f"tokens{n}"], chosen) for n in range(_SPELLINGS)])

    def _starts(self, lengths: Rows, chosen: Rows) -> Tensor:
        return torch.from_numpy(np.concatenate(([0], np.cumsum(lengths)))[chosen]).to(self._device)

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
        first_frame = self._first_frame[rows][:, None]
        at = first_frame + torch.minimum(asked.clamp(min=0), frames - 1)
        predicts = (asked >= 0) & (asked < frames)
        targets = self._flat["codes"][at].long()
        first_target = torch.where(predicts, targets[..., 0], _NO_TARGET)
        return Batch(
            text=self._text_rows(places, head[:, None], tokens, rows, spelling),
            control=self._control_rows(places, head, start, rows, torch.from_numpy(draw.auto).to(device)),
            is_frame=(fed >= 0) & (fed < frames),
            frames=self._flat["codes"][first_frame + torch.minimum(fed.clamp(min=0), frames - 1)].long(),
            targets=targets,
            predicts=predicts,
            first_target=torch.where(asked == frames, control_id("eos"), first_target),
            phones=self._flat["phones"][at].long(),
            sounding_first=self._spelled("first", spelling, at) + head[:, None],
            sounding_last=self._spelled("last", spelling, at) + head[:, None],
        )

    def _spelled(self, name: str, spelling: Tensor, at: Tensor) -> Tensor:
        """Entries (B, T) of the text or of what sounds, in the chosen one of two spellings."""
        plain, other = (self._flat[f"{name}{n}"] for n in range(_SPELLINGS))
        size = len(plain) - 1, len(other) - 1
        chosen = torch.where(spelling[:, None] == 0, plain[at.clamp(max=size[0])], other[at.clamp(max=size[1])])
        return chosen.long()

    def _text_rows(self, places: Tensor, head: Tensor, tokens: Tensor, rows: Tensor, spelling: Tensor) -> Tensor:
        """Role, pads, start of text, text, end of text, pads."""
        at = places - head
        within = torch.minimum(at.clamp(min=0), tokens - 1)
        text = self._spelled("text", spelling, self._first_token[spelling, rows][:, None] + within)
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


def _tags(*names: str) -> list[int]:
    tags = [control_id(name) for name in names]
    return [control_id("pad")] * 3 + tags + [control_id("pad")] * (_HEAD - 3 - len(tags))
