from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from worker.engine.interface import TokenSampling
from worker.engine.requests.sampling import (
    Argmax,
    NoiseTable,
    RowSampling,
    TopK,
    TopP,
    draw_for,
    penalise_repetition,
    sample,
)

CPU = torch.device("cpu")
VOCAB = 40
SEED_42_FRAME_7_NOISE = torch.tensor(
    [-0.515071, -0.242336, -0.674052, 0.829149, 0.596757, -0.293776, 1.588621, -0.33101]
)


def logits_of(num_rows: int, seed: int = 0) -> Tensor:
    return torch.randn(num_rows, VOCAB, generator=torch.Generator().manual_seed(seed)) * 2


def noise_for(seeds: Tensor, frames: Tensor | None = None) -> Tensor:
    return NoiseTable([VOCAB], CPU).at(seeds, torch.zeros_like(seeds) if frames is None else frames)[0]


def rows_of(*params: TokenSampling) -> RowSampling:
    rows = RowSampling(len(params), VOCAB, CPU)
    for row, one in enumerate(params):
        rows.set(row, one)
    return rows


def draws(logits: Tensor, params: TokenSampling, count: int) -> Tensor:
    """Draw `count` times from one row of logits, each time with another seed."""
    rows = rows_of(*[params] * count)
    draw = draw_for([params], VOCAB)
    return sample(logits.expand(count, -1), noise_for(torch.arange(count)), rows.at(torch.arange(count)), draw)[0]


def filtered_softmax(logits: Tensor, params: TokenSampling) -> Tensor:
    """The plain definition, one row, one step after the other."""
    scaled = logits / params.temperature
    if params.top_k:
        scaled[scaled < scaled.sort(descending=True).values[params.top_k - 1]] = -math.inf
    probabilities, total = scaled.softmax(0), 0.0
    for index in scaled.argsort(descending=True).tolist():
        if total >= params.top_p:
            scaled[index] = -math.inf
        total += probabilities[index].item()
    return scaled.softmax(0)


@pytest.mark.parametrize(
    "params",
    [
        TokenSampling(1.0, 0, 1.0),
        TokenSampling(0.6, 0, 1.0),
        TokenSampling(0.9, 10, 1.0),
        TokenSampling(1.2, 0, 0.7),
        TokenSampling(1.2, 12, 0.8),
    ],
)
def test_draws_follow_the_filtered_softmax(params: TokenSampling) -> None:
    logits, count = logits_of(1), 20_000

    counts = torch.bincount(draws(logits, params, count), minlength=VOCAB).double()

    expected = filtered_softmax(logits[0].clone(), params).double() * count
    assert not counts[expected == 0].any(), "drew what the filters exclude"
    often = expected >= 5
    chi_square = ((counts - expected)[often] ** 2 / expected[often]).sum().item()
    degrees = int(often.sum()) - 1
    # Mean of the chi-square distribution plus four of its standard deviations; the seeds are fixed.
    assert chi_square < degrees + 4 * math.sqrt(2 * degrees)


@pytest.mark.parametrize("k", [1, 2, 7, VOCAB])
def test_top_k_leaves_exactly_the_k_largest(k: int) -> None:
    logits = logits_of(1)

    drawn = set(draws(logits, TokenSampling(50.0, k, 1.0), 5000).tolist())

    assert drawn == set(logits[0].topk(k).indices.tolist())


@pytest.mark.parametrize("p", [1e-6, 0.3, 0.6, 0.95])
def test_top_p_leaves_the_smallest_set_of_at_least_that_probability(p: float) -> None:
    logits = logits_of(1) / 4
    probabilities, order = logits[0].softmax(0).sort(descending=True)
    size = int((probabilities.cumsum(0) < p).sum()) + 1

    drawn = set(draws(logits, TokenSampling(1.0, 0, p), 20_000).tolist())

    assert drawn <= set(order[:size].tolist())
    assert len(drawn) == size


def test_rows_with_different_filters_draw_as_if_alone() -> None:
    params = [
        TokenSampling(0.0),
        TokenSampling(0.9, 5, 1.0),
        TokenSampling(1.0, 0, 1.0),
        TokenSampling(1.1, 30, 0.5),
        TokenSampling(0.8, 20, 1.0),
    ]
    logits, seeds = logits_of(len(params)), torch.arange(len(params))

    together = sample(
        logits, noise_for(seeds), rows_of(*params).at(torch.arange(len(params))), draw_for(params, VOCAB)
    )[0]

    for row, one in enumerate(params):
        alone = sample(
            logits[[row]], noise_for(seeds[[row]]), rows_of(one).at(torch.arange(1)), draw_for([one], VOCAB)
        )[0]
        assert together[row] == alone[0]


def test_the_draw_is_the_cheapest_that_serves_all_rows() -> None:
    greedy, some, nucleus = TokenSampling(0.0, top_p=0.5), TokenSampling(top_k=9), TokenSampling(top_p=0.9)

    assert draw_for([greedy, greedy], VOCAB) == Argmax()
    assert draw_for([greedy, some], VOCAB) == TopK(9)
    assert draw_for([some, nucleus], VOCAB) == TopP()


def test_noise_does_not_depend_on_the_row_or_its_neighbours() -> None:
    table = NoiseTable([VOCAB + 1, VOCAB, VOCAB], CPU)
    seeds, frames = torch.tensor([5, -7, 1 << 62]), torch.tensor([0, 3, 99])

    together = table.at(seeds, frames)

    for row in range(3):
        alone = table.at(seeds[[row]], frames[[row]])
        for codebook in range(3):
            assert torch.equal(together[codebook][row], alone[codebook][0])


def test_noise_differs_between_seeds_frames_and_codebooks() -> None:
    table = NoiseTable([VOCAB] * 4, CPU)
    seeds = torch.tensor([0, 1, 2, 0, 0])
    frames = torch.tensor([0, 0, 0, 1, 2])

    values = torch.cat(table.at(seeds, frames), dim=1).flatten()

    assert values.unique().numel() == values.numel()
    assert values.isfinite().all()


def test_noise_has_the_gumbel_distribution_and_no_correlation_between_neighbours() -> None:
    noise = noise_for(torch.arange(5000)).double()

    assert abs(noise.mean().item() - 0.5772) < 0.01
    assert abs(noise.var().item() - math.pi**2 / 6) < 0.03
    centred = noise - noise.mean()
    for neighbour in (centred.roll(1, 0), centred.roll(1, 1)):
        assert abs((centred * neighbour).mean().item()) < 0.02


def test_noise_is_the_same_on_every_machine() -> None:
    """Worked out with whole numbers of any size, apart from this code: old seeds keep their meaning."""
    noise = NoiseTable([4, 4], CPU).at(torch.tensor([42]), torch.tensor([7]))

    torch.testing.assert_close(torch.cat(noise, dim=1)[0], SEED_42_FRAME_7_NOISE, rtol=1e-5, atol=1e-5)


def test_the_penalty_divides_positive_and_multiplies_negative_logits_of_drawn_entries() -> None:
    logits = torch.tensor([[2.0, -2.0, 2.0, -2.0]])
    present = torch.tensor([[True, True, False, False]])

    penalised = penalise_repetition(logits, present, torch.tensor([[2.0]]))

    assert penalised.tolist() == [[1.0, -4.0, 2.0, -2.0]]


@pytest.mark.parametrize("draw", [Argmax(), TopK(5), TopP()])
def test_a_row_with_nan_shows_in_its_score_and_in_no_other(draw: Argmax | TopK | TopP) -> None:
    logits = logits_of(3)
    logits[1, 4] = math.nan
    rows = rows_of(*[TokenSampling(1.0, 5, 0.9)] * 3)

    scores = sample(logits, noise_for(torch.arange(3)), rows.at(torch.arange(3)), draw)[1]

    assert scores.isfinite().tolist() == [True, False, True]
