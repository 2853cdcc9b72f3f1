"""Codes without a learned encoder: a split residual quantizer of `features`, fitted by k-means.

    python -m training.codec.quantizer --speech DIR --out quantizer.pt --hours 3

Codebook 0 clusters what a small network hears of the phones, for any speaker; its entry stands for the mean sound of
the cluster. Codebooks 1 and up quantize what is left, one after the other, in the principal directions. A frame's
vector is the sum of its entries, as the published decoder has it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.codec.features import NUM_FEATURES, FrameFeatures
from training.device import best_device
from training.dimensions import CODEC, LABELS_PER_FRAME, PHONES
from training.speech.recordings import load_streams
from training.steps import Unusable, run_step, step_parser

logger = logging.getLogger(__name__)

_HEARD_DIM = 32
_HIDDEN = 512
_CONTEXT = 3 * NUM_FEATURES


@dataclass(frozen=True, slots=True)
class Quantizer:
    """mean (F,), basis (F, D): the principal directions. hidden_*, output_*: the phone network. heard (P, 32).

    phone_book (K, 32): clusters of what is heard; books (Q, K, D): entries in the principal directions.
    """

    mean: Tensor
    basis: Tensor
    hidden_weight: Tensor
    hidden_bias: Tensor
    output_weight: Tensor
    output_bias: Tensor
    heard: Tensor
    phone_book: Tensor
    books: Tensor

    def save(self, path: Path) -> None:
        torch.save({name: tensor.cpu() for name, tensor in asdict(self).items()}, path)

    @classmethod
    def load(cls, path: Path, device: torch.device) -> Quantizer:
        return cls(**torch.load(path, map_location=device))

    def encode(self, features: Tensor) -> Tensor:
        """features (T, F), consecutive frames -> codes int64 (T, Q)."""
        first = nearest(self.hear(features), self.phone_book)
        left = (features - self.mean) @ self.basis - self.books[0][first]
        codes = [first]
        for book in self.books[1:]:
            code = nearest(left, book)
            left = left - book[code]
            codes.append(code)
        return torch.stack(codes, 1)

    def hear(self, features: Tensor) -> Tensor:
        """What the phone network makes of the frames and their neighbours, (T, 32)."""
        inside = (with_neighbours(features) - self.mean.repeat(3)) @ self.hidden_weight.T + self.hidden_bias
        logits = F.silu(inside) @ self.output_weight.T + self.output_bias
        return _phone_posteriors(logits) @ self.heard


def main(argv: Sequence[str] | None = None) -> None:
    parser = step_parser(__doc__)
    parser.add_argument("--speech", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--hours", type=float, default=3.0)
    parser.add_argument("--steps", type=int, default=1500, help="of the phone network")
    arguments = parser.parse_args(argv)
    torch.manual_seed(0)
    features, labels = _load(arguments.speech, arguments.hours, best_device())
    fit(features, labels, arguments.steps).save(arguments.out)


@torch.no_grad()
def _load(folder: Path, hours: float, device: torch.device) -> tuple[Tensor, Tensor]:
    extract, started_s = FrameFeatures(device), time.monotonic()
    streams = load_streams(folder, hours)
    features = torch.cat([extract(stream.samples(0, stream.frames, device)) for stream in streams])
    labels = torch.cat([torch.from_numpy(stream.phone_labels()).to(device).long() for stream in streams])
    logger.info("%d frames in %.0f s", len(features), time.monotonic() - started_s)
    return features, labels


def fit(features: Tensor, labels: Tensor, steps: int) -> Quantizer:
    """features (T, F), labels int64 (T, 4). Raises Unusable for fewer frames than a codebook has entries."""
    if len(features) < CODEC.codebook_size:
        raise Unusable(f"{len(features)} frames of speech are too few for codebooks of {CODEC.codebook_size} entries")
    mean = features.mean(0)
    values, directions = torch.linalg.eigh(torch.cov((features - mean).T))
    basis = directions.flip(1)[:, : CODEC.vector_dim].contiguous()
    kept = float(values.flip(0)[: CODEC.vector_dim].sum() / values.sum())
    logger.info("%d directions keep %.4f of the energy", CODEC.vector_dim, kept)
    network = _train_phone_network(features, labels, mean, steps)
    posteriors = torch.cat([_phone_posteriors(network(_centred(features, mean, at))) for at in _batches(len(features))])
    # Rare phones count as much as frequent ones, up to a bound.
    scale = 1 / posteriors.view(-1, LABELS_PER_FRAME, len(PHONES)).mean((0, 1)).clamp(min=0.004).sqrt()
    scale = scale.repeat(LABELS_PER_FRAME)
    sample = torch.randperm(len(posteriors), device=features.device)[:40_000]
    heard = scale[:, None] * torch.linalg.svd(posteriors[sample] * scale, full_matrices=False).Vh[:_HEARD_DIM].T
    first, last = network[0], network[2]
    assert isinstance(first, nn.Linear)  # noqa: S101  (as the network was put together)
    assert isinstance(last, nn.Linear)  # noqa: S101
    clusters = kmeans(posteriors @ heard, CODEC.codebook_size, 30)
    books = _residual_books((features - mean) @ basis, nearest(posteriors @ heard, clusters), labels)
    return Quantizer(
        mean=mean,
        basis=basis,
        hidden_weight=first.weight.detach(),
        hidden_bias=first.bias.detach(),
        output_weight=last.weight.detach(),
        output_bias=last.bias.detach(),
        heard=heard,
        phone_book=clusters,
        books=books,
    )


@torch.no_grad()
def _residual_books(vectors: Tensor, first: Tensor, labels: Tensor) -> Tensor:
    size, total = CODEC.codebook_size, (vectors - vectors.mean(0)).pow(2).sum()
    counts = torch.bincount(first, minlength=size).clamp(min=1)
    books = [torch.zeros(size, vectors.shape[1], device=vectors.device).index_add_(0, first, vectors) / counts[:, None]]
    left = vectors - books[0][first]
    logger.info(
        "codebook 0: %.3f of the 20 ms phones follow from it, %.4f of the energy is left",
        _told_by(first, labels),
        float(left.pow(2).sum() / total),
    )
    for number in range(1, CODEC.num_quantizers):
        book = kmeans(left, size, 20)
        left = left - book[nearest(left, book)]
        books.append(book)
        logger.info("codebook %d: %.4f of the energy is left", number, float(left.pow(2).sum() / total))
    return torch.stack(books)


def _told_by(codes: Tensor, labels: Tensor) -> float:
    """The share of 20 ms phones that the most frequent phone of their code names."""
    table = torch.zeros(CODEC.codebook_size, LABELS_PER_FRAME * len(PHONES), device=codes.device)
    table.index_add_(0, codes, F.one_hot(labels, len(PHONES)).flatten(1).float())
    return float(table.view(-1, LABELS_PER_FRAME, len(PHONES)).max(-1).values.sum() / labels.numel())


def _train_phone_network(features: Tensor, labels: Tensor, mean: Tensor, steps: int) -> nn.Sequential:
    network = nn.Sequential(
        nn.Linear(_CONTEXT, _HIDDEN), nn.SiLU(), nn.Linear(_HIDDEN, LABELS_PER_FRAME * len(PHONES))
    ).to(features.device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-2)
    loss = torch.zeros(())
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * (1 - step / steps)
        at = torch.randint(0, len(features), (4096,), device=features.device)
        logits = network(_centred(features, mean, at))
        loss = F.cross_entropy(logits.view(-1, len(PHONES)), labels[at].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    logger.info("phone network: loss %.3f after %d steps", float(loss.detach()), steps)
    return network.eval().requires_grad_(requires_grad=False)


def _phone_posteriors(logits: Tensor) -> Tensor:
    return logits.view(-1, LABELS_PER_FRAME, len(PHONES)).softmax(-1).flatten(1)


def _centred(features: Tensor, mean: Tensor, at: Tensor) -> Tensor:
    last = len(features) - 1
    context = torch.cat((features[(at - 1).clamp(min=0)], features[at], features[(at + 1).clamp(max=last)]), 1)
    return context - mean.repeat(3)


def with_neighbours(features: Tensor) -> Tensor:
    """(T, F) -> (T, 3 F): each frame between the one before and the one after."""
    before = torch.cat((features[:1], features[:-1]))
    after = torch.cat((features[1:], features[-1:]))
    return torch.cat((before, features, after), 1)


def _batches(size: int) -> list[Tensor]:
    return list(torch.arange(size).split(65_536))


def kmeans(points: Tensor, size: int, rounds: int) -> Tensor:
    """Centres (size, D). A centre with fewer than two points moves to the point that is worst served."""
    centres = points[torch.randperm(len(points), device=points.device)[:size]].clone()
    for _ in range(rounds):
        codes, distances = _assign(points, centres)
        counts = torch.bincount(codes, minlength=size)
        centres = torch.zeros_like(centres).index_add_(0, codes, points) / counts.clamp(min=1)[:, None]
        empty = (counts < 2).nonzero()[:, 0]
        centres[empty] = points[distances.topk(len(empty)).indices]
    return centres


def nearest(points: Tensor, centres: Tensor) -> Tensor:
    return _assign(points, centres)[0]


def _assign(points: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
    """The index of the nearest centre and the squared distance to it, (N,) each."""
    codes, distances = [], []
    lengths = centres.pow(2).sum(1)
    for part in points.split(65_536):
        best = (lengths - 2 * part @ centres.T).min(1)
        codes.append(best.indices)
        distances.append(best.values + part.pow(2).sum(1))
    return torch.cat(codes), torch.cat(distances)


if __name__ == "__main__":
    run_step(main)
