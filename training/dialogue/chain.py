"""`reading.dialogue.chain` as a conditional random field in torch: its likelihood and its marginals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from reading.dialogue.speakers import MOST_CANDIDATES
from training.dialogue.novels import Example

_LENGTHS = (1, 3, 6, 12, 30)
"""Scenes of at most so many turns share a tensor."""


class Bags:
    """Signs of many things."""

    def __init__(self, signs: Sequence[Sequence[str]], numbers: Mapping[str, int]) -> None:
        known = [[numbers[name] for name in names if name in numbers] for names in signs]
        ends = np.cumsum([len(each) for each in known])
        self._signs = torch.tensor([number for each in known for number in each], dtype=torch.int64)
        self._starts = torch.tensor([0, *ends[:-1]], dtype=torch.int64)

    def sums(self, weights: Tensor) -> Tensor:
        """[things]: of the weights [signs] of its signs."""
        return functional.embedding_bag(self._signs, weights[:, None], self._starts, mode="sum")[:, 0]


@dataclass(frozen=True, slots=True)
class Batch:
    """Scenes of like length: B scenes, T turns, C candidates.

    is_candidate, is_right: [B, T, C]. again, two: [B, T, C], the number of the same person among the candidates one and
    two turns before; C if it is not there.
    """

    unary: Bags
    again_signs: Bags
    two_signs: Bags
    is_candidate: Tensor
    is_right: Tensor
    again: Tensor
    two: Tensor


def number_of(scenes: Sequence[Sequence[Example]], least: int = 40) -> dict[str, int]:
    """Numbers the signs that stand in at least so many turns; others do not count."""
    counts: dict[str, int] = {}
    for scene in scenes:
        for turn in scene:
            for name in {name for names in (*turn.unary, *turn.pairs) for name in names}:
                counts[name] = counts.get(name, 0) + 1
    return {name: at for at, name in enumerate(sorted(name for name, count in counts.items() if count >= least))}


def batches(scenes: Sequence[Sequence[Example]], numbers: dict[str, int]) -> Iterator[tuple[list[int], Batch]]:
    """Each with the indices of its scenes."""
    for shortest, longest in zip((0, *_LENGTHS), _LENGTHS, strict=False):
        fitting = [at for at, scene in enumerate(scenes) if shortest < len(scene) <= longest]
        if fitting:
            yield fitting, _batch([scenes[at] for at in fitting], longest, numbers)


def _batch(scenes: Sequence[Sequence[Example]], length: int, numbers: dict[str, int]) -> Batch:
    shape = (len(scenes), length, MOST_CANDIDATES)
    is_candidate, is_right = np.zeros(shape, bool), np.ones(shape, bool)
    is_candidate[:, :, 0] = True
    again, two = np.full(shape, MOST_CANDIDATES), np.full(shape, MOST_CANDIDATES)
    unary: list[Sequence[str]] = []
    pairs: tuple[list[Sequence[str]], list[Sequence[str]]] = [], []
    for b, scene in enumerate(scenes):
        for t in range(length):
            turn = scene[t] if t < len(scene) else None
            held = turn.unary if turn else ()
            unary += [*held, *[()] * (MOST_CANDIDATES - len(held))]
            for signs, own in zip(pairs, turn.pairs if turn else ((), ()), strict=True):
                signs.append(own)
            if turn is None:
                continue
            is_candidate[b, t, : len(held)] = True
            if turn.right:
                is_right[b, t] = [c in turn.right for c in range(MOST_CANDIDATES)]
            for step, same in ((1, again), (2, two)):
                if t >= step:
                    old = {each: at for at, each in enumerate(scene[t - step].candidates)}
                    same[b, t, : len(held)] = [old.get(each, MOST_CANDIDATES) for each in turn.candidates]
    return Batch(
        Bags(unary, numbers),
        Bags(pairs[0], numbers),
        Bags(pairs[1], numbers),
        torch.from_numpy(is_candidate),
        torch.from_numpy(is_right),
        torch.from_numpy(again),
        torch.from_numpy(two),
    )


def scores(batch: Batch, weights: Tensor) -> Tensor:
    """[B, T, C]."""
    return batch.unary.sums(weights).view(batch.is_candidate.shape)


def log_sums(batch: Batch, unary: Tensor, weights: Tensor, allowed: Sequence[Tensor]) -> list[Tensor]:
    """For each mask of candidates [B, T, C], the logarithm [B] of the sum over the chains that it allows.

    All are less the same constant of each turn.
    """
    number, length, most = batch.is_candidate.shape
    again, two = (
        torch.expm1(signs.sums(weights)).view(number, length, 1, 1).repeat(len(allowed), 1, 1, 1)
        for signs in (batch.again_signs, batch.two_signs)
    )
    is_again = functional.one_hot(batch.again, most + 1)[..., :most].mT.to(unary.dtype)
    is_again = is_again.repeat(len(allowed), 1, 1, 1)
    old_at = batch.two.repeat(len(allowed), 1, 1)[..., None].expand(-1, -1, -1, most)
    top = unary.masked_fill(~batch.is_candidate, -torch.inf).amax(-1, keepdim=True).detach()
    values = torch.exp(unary.masked_fill(~batch.is_candidate, 0) - top)
    u = torch.cat([values * mask for mask in allowed])
    nobody = torch.zeros((len(u), 1, most), dtype=u.dtype)
    state = u[:, 0, None, :] / most
    total = torch.zeros(len(u), dtype=u.dtype)
    for t in range(1, length):
        old = u[:, 0, :, None] if t == 1 else state.sum(1)[:, :, None]
        if t > 1:
            old = old + two[:, t] * torch.cat([state, nobody], 1).gather(1, old_at[:, t]).mT
        state = old * (1 + again[:, t] * is_again[:, t]) * u[:, t, None, :]
        scale = state.sum((1, 2), keepdim=True)
        total = total + scale.log().view(-1)
        state = state / scale
    total = total + state.sum((1, 2)).log()
    return list(total.split(number))


def loss(batch: Batch, weights: Tensor) -> Tensor:
    """Minus the logarithm of the probability of the true speakers, summed."""
    right, all_ = log_sums(
        batch, scores(batch, weights), weights, (batch.is_candidate & batch.is_right, batch.is_candidate)
    )
    return (all_ - right).sum()


def marginals(batch: Batch, weights: Tensor) -> Tensor:
    """[B, T, C]: the probability of each candidate, as the derivative of the logarithm of the sum."""
    unary = scores(batch, weights).detach().requires_grad_()
    (all_,) = log_sums(batch, unary, weights.detach(), (batch.is_candidate,))
    (found,) = torch.autograd.grad(all_.sum(), unary)
    return found


def learnt(batched: Sequence[Batch], num_weights: int, penalty: float, most_steps: int) -> Tensor:
    """Weights by L-BFGS with a quadratic penalty."""
    weights = torch.zeros(num_weights, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [weights], max_iter=most_steps, history_size=20, tolerance_change=1e-5, line_search_fn="strong_wolfe"
    )

    def step() -> Tensor:
        optimiser.zero_grad()
        total = penalty * (weights**2).sum()
        for batch in batched:
            total = total + loss(batch, weights)
        total.backward()
        return total

    optimiser.step(step)
    return weights.detach()
