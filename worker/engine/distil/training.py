"""Heads fitted to what the code predictor itself holds for likely, one codebook after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from worker.engine.stages.draft_heads import HeadWeights

_RATE, _DECAY, _BATCH = 4e-3, 0.05, 256
_DROPOUT = 0.1
_HARD_SHARE = 0.3
"""Weight of the likeliest code beside the whole distribution: a guess is right or wrong, not near."""
_SEED = 1


@dataclass(frozen=True, slots=True)
class FrameStates:
    """Of N frames: the predictor's states (N, Q, width), the first one the talker's hidden state in the predictor's
    width, and the codes int64 (N, Q)."""

    states: Tensor
    codes: Tensor


@dataclass(frozen=True, slots=True)
class HeadProgress:
    """Of one head: the share of frames, none of them trained on, where one or three guesses have the likeliest code."""

    position: int
    first_guess: float
    three_guesses: float


def train_heads(
    seen: FrameStates, unseen: FrameStates, heads: Tensor, rank: int, epochs: int, tell: Callable[[HeadProgress], None]
) -> HeadWeights:
    """heads: the predictor's own, (Q - 1, V, width)."""
    trained: list[tuple[Tensor, Tensor, Tensor]] = []
    for position, head in enumerate(heads):
        wanted = F.linear(seen.states[:, position + 1].float(), head)
        inputs = (seen.states[:, position].float(), seen.codes[:, position])
        tensors = _train(*inputs, wanted, rank, epochs)
        trained.append(tensors)
        tell(_measured(position, HeadWeights(*(tensor[None] for tensor in tensors)), unseen, head))
    return HeadWeights(*(torch.stack(parts) for parts in zip(*trained, strict=True)))


def _train(states: Tensor, codes: Tensor, wanted: Tensor, rank: int, epochs: int) -> tuple[Tensor, Tensor, Tensor]:
    """state (rank, width), code (V, rank), logits (V, rank)."""
    random = torch.Generator().manual_seed(_SEED)
    width, num_lanes = states.shape[1], wanted.shape[1]
    weights = HeadWeights(
        torch.randn(1, rank, width, generator=random) * width**-0.5,
        torch.randn(1, num_lanes, rank, generator=random) * 0.3,
        torch.randn(1, num_lanes, rank, generator=random) * rank**-0.5,
    )
    parameters = [tensor.requires_grad_() for tensor in (weights.state, weights.code, weights.logits)]
    optimizer = torch.optim.AdamW(parameters, lr=_RATE, weight_decay=_DECAY)
    batch = min(_BATCH, len(states))
    num_batches = len(states) // batch
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, epochs * num_batches)
    for _ in range(epochs):
        order = torch.randperm(len(states), generator=random)[: num_batches * batch]
        for chosen in order.split(batch):
            kept = torch.rand(batch, width, generator=random) >= _DROPOUT
            loss = _loss(weights.scores(0, states[chosen] * kept / (1 - _DROPOUT), codes[chosen]), wanted[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    state, code, logits = (tensor.detach()[0] for tensor in parameters)
    return state, code, logits


def _loss(scores: Tensor, wanted: Tensor) -> Tensor:
    whole = F.kl_div(scores.log_softmax(-1), wanted.log_softmax(-1), log_target=True, reduction="batchmean")
    return whole + _HARD_SHARE * F.cross_entropy(scores, wanted.argmax(-1))


@torch.inference_mode()
def _measured(position: int, weights: HeadWeights, unseen: FrameStates, head: Tensor) -> HeadProgress:
    drawn = F.linear(unseen.states[:, position + 1].float(), head).argmax(-1, keepdim=True)
    scores = weights.scores(0, unseen.states[:, position].float(), unseen.codes[:, position])
    hits = scores.topk(min(3, scores.shape[1]), dim=-1).indices == drawn
    return HeadProgress(position, float(hits[:, 0].float().mean()), float(hits.any(dim=1).float().mean()))
