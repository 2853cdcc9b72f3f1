"""The code predictor for a row alone: each pass also takes guesses of the code that it is about to give.

A row alone is padded to four tokens anyway. Here the others are guesses: a pass takes the code just drawn, and three
that the next one may be. The true one is drawn from the first token. If a guess matches it, its state is already there,
and the next code is drawn without another pass. So every code is drawn from the state of a pass over it alone, bit by
bit, whatever the guesses are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from worker.engine.model.code_predictor import CodePredictor
from worker.engine.model.config import CodePredictorConfig
from worker.engine.model.layers import RotaryTable
from worker.engine.requests.sampling import Draw, StepSampling, sample

TOKENS = 4
"""Of a pass, which then rounds as one over four rows."""
_GUESSES = TOKENS - 1
_FIRST_GUESSES = TOKENS - 2


class Drafts(Protocol):
    def guesses(
        self, position: int, state: Tensor, code: Tensor, noise: Tensor, row: StepSampling, draw: Draw, count: int
    ) -> Tensor:
        """`count` codes that codebook `position` + 1 may be drawn as: int64 (count,).

        state (1, width): behind `position`, whose code int64 (1,) was drawn from it; at position 0, the talker's.
        noise (1, V): that of the codebook to be guessed.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Passed:
    """states: (TOKENS, width), of which `true` is the token behind a code that was drawn, and the others guesses."""

    states: Tensor
    true: int
    guesses: tuple[int, ...]


class DraftedCodes:
    """Owns the keys and values of the frame being made; single-threaded."""

    def __init__(
        self,
        config: CodePredictorConfig,
        predictor: CodePredictor,
        input_tables: Sequence[Tensor],
        drafts: Drafts,
    ) -> None:
        """input_tables: of codebooks 0 to Q - 2 in the predictor's width, (V, width) each."""
        transformer, self._num_codebooks = config.transformer, config.num_codebooks
        self._predictor = predictor
        self._heads = tuple(predictor.heads.weight)
        self._input_tables = tuple(input_tables)
        self._drafts = drafts
        device = self._heads[0].device
        rotary = RotaryTable(transformer, config.num_codebooks, device)
        last = config.num_codebooks - 1
        self._first_rotation = rotary.at(torch.tensor([0, 1, *[min(2, last)] * _FIRST_GUESSES], device=device))
        self._rotations = [
            rotary.at(torch.tensor([at, *[min(at + 1, last)] * _GUESSES], device=device))
            for at in range(config.num_codebooks)
        ]
        # Token by token the same past, and after it the token's own key and value.
        shape = (transformer.num_layers, TOKENS, config.num_codebooks, transformer.num_kv_heads, transformer.head_dim)
        self._keys = torch.zeros(shape, dtype=self._heads[0].dtype, device=device)
        self._values = torch.zeros_like(self._keys)

    def complete(
        self, hidden: Tensor, first_code: Tensor, noise: Sequence[Tensor], row: StepSampling, draw: Draw
    ) -> tuple[Tensor, Tensor]:
        """hidden (1, talker_hidden), first_code int64 (1,), noise: (1, V) for each residual codebook.

        -> codes int64 (1, Q) and the winning scores (1, Q - 1), as `CodePredictorStage.complete`.
        """
        codes, scores = [first_code], list[Tensor]()
        projected = self._predictor.project(hidden.expand(TOKENS, -1))[:1]
        passed = self._first_pass(projected, first_code, noise, row, draw)
        while True:
            state = passed.states[passed.true : passed.true + 1]
            guessed = self._draw(passed, passed.true, codes, scores, noise, row, draw)
            if guessed is not None:
                self._keep(guessed, len(codes) - 1)
                state = passed.states[guessed : guessed + 1]
                self._draw(passed, guessed, codes, scores, noise, row, draw)
            if len(codes) == self._num_codebooks:
                return torch.stack(codes, dim=1), torch.stack(scores, dim=1)
            passed = self._pass(state, codes, noise, row, draw)

    def _draw(
        self,
        passed: _Passed,
        token: int,
        codes: list[Tensor],
        scores: list[Tensor],
        noise: Sequence[Tensor],
        row: StepSampling,
        draw: Draw,
    ) -> int | None:
        """The next code, from the state of a token. The token of the guess that has it, if there is one to go on."""
        position = len(codes)
        # All tokens are multiplied, for one alone would round in another way.
        logits = F.linear(passed.states, self._heads[position - 1])[token : token + 1].float()
        code, score = sample(logits, noise[position - 1], row, draw)
        codes.append(code)
        scores.append(score)
        drawn = int(code)
        if token != passed.true or drawn not in passed.guesses:
            return None
        return TOKENS - len(passed.guesses) + passed.guesses.index(drawn)

    def _first_pass(
        self, projected: Tensor, first_code: Tensor, noise: Sequence[Tensor], row: StepSampling, draw: Draw
    ) -> _Passed:
        """The talker's hidden state, codebook 0, and guesses of codebook 1."""
        first = self._input_tables[0].index_select(0, first_code)
        if self._num_codebooks == 2:
            inputs, guesses = torch.cat((projected, first, first.expand(_FIRST_GUESSES, -1))), ()
        else:
            guessed = self._drafts.guesses(0, projected, first_code, noise[0], row, draw, _FIRST_GUESSES)
            inputs = torch.cat((projected, first, self._input_tables[1].index_select(0, guessed)))
            guesses = tuple(guessed.tolist())
        attend = _FirstAttention(self._keys, self._values)
        return _Passed(self._predictor(inputs, self._first_rotation, attend), 1, guesses)

    def _pass(
        self, state: Tensor, codes: Sequence[Tensor], noise: Sequence[Tensor], row: StepSampling, draw: Draw
    ) -> _Passed:
        """The code drawn last, which came from `state`, and guesses of the one that this pass is to give."""
        position = len(codes)
        true = self._input_tables[position - 1].index_select(0, codes[-1])
        if position == self._num_codebooks - 1:
            inputs, guesses = true.expand(TOKENS, -1), ()
        else:
            guessed = self._drafts.guesses(position - 1, state, codes[-1], noise[position - 1], row, draw, _GUESSES)
            inputs = torch.cat((true, self._input_tables[position].index_select(0, guessed)))
            guesses = tuple(guessed.tolist())
        attend = _GuessAttention(self._keys, self._values, position)
        return _Passed(self._predictor(inputs, self._rotations[position], attend), 0, guesses)

    def _keep(self, token: int, position: int) -> None:
        """What the guess at `position` left behind is part of the past."""
        for memory in (self._keys, self._values):
            memory[:, :, position + 1] = memory[:, token : token + 1, position + 1].clone()


class _GuessAttention:
    """The first token at `position` sees the past; the others stand after it and see it, too, but not one another."""

    def __init__(self, keys: Tensor, values: Tensor, position: int) -> None:
        self._keys = keys
        self._values = values
        self._position = position

    def __call__(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        position = self._position
        past_keys, past_values = self._keys[layer], self._values[layer]
        past_keys[:, position], past_values[:, position] = keys[0], values[0]
        grouped = queries.to(past_keys.dtype).view(TOKENS, keys.shape[1], -1, keys.shape[2])
        first = _attend(grouped[:1], past_keys[:1], past_values[:1], position + 1)
        if position + 1 == past_keys.shape[1]:
            return first.expand(TOKENS, -1)
        past_keys[1:, position + 1], past_values[1:, position + 1] = keys[1:], values[1:]
        return torch.cat((first, _attend(grouped[1:], past_keys[1:], past_values[1:], position + 2)))


class _FirstAttention:
    """Positions 0 and 1, and guesses behind them."""

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        self._keys = keys
        self._values = values

    def __call__(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        past_keys, past_values = self._keys[layer], self._values[layer]
        past_keys[:, :2], past_values[:, :2] = keys[:2], values[:2]
        grouped = queries.to(past_keys.dtype).view(TOKENS, keys.shape[1], -1, keys.shape[2])
        pair = [_attend(grouped[at : at + 1], past_keys[:1], past_values[:1], at + 1) for at in range(2)]
        if past_keys.shape[1] == 2:
            return torch.cat((*pair, *pair[1:] * _FIRST_GUESSES))
        past_keys[2:, 2], past_values[2:, 2] = keys[2:], values[2:]
        return torch.cat((*pair, _attend(grouped[2:], past_keys[2:], past_values[2:], 3)))


def _attend(queries: Tensor, keys: Tensor, values: Tensor, length: int) -> Tensor:
    """As `CodePredictorStage` attends for one position of several rows."""
    attended = F.scaled_dot_product_attention(
        queries, keys[:, :length].transpose(1, 2), values[:, :length].transpose(1, 2)
    )
    return attended.reshape(queries.shape[0], -1)
