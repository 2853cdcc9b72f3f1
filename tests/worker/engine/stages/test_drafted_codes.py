"""A row alone with guesses has the codes and scores of the plain loop, bit for bit, whatever is guessed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.property_tests import examples
from tests.worker.engine.stages.test_code_predictor import SAMPLINGS, SMALL_VOICE, Loaded, step_sampling
from worker.engine.interface import TokenSampling
from worker.engine.requests.sampling import Draw, StepSampling
from worker.engine.stages.draft_heads import DraftHeads, HeadWeights
from worker.engine.stages.drafted_codes import DraftedCodes, Drafts

ROWS = 4


@pytest.fixture(scope="module", params=["custom_voice", "small voice"])
def loaded(request: pytest.FixtureRequest, checkpoints: Mapping[str, Path]) -> Loaded:
    return Loaded.read(SMALL_VOICE if request.param == "small voice" else checkpoints[request.param])


@dataclass
class Guesser:
    """`choose` (codebook, count) gives the guesses; what was asked is kept."""

    choose: Callable[[int, int], list[int]]
    asked: list[int] = field(default_factory=list[int])

    def guesses(
        self, position: int, state: Tensor, code: Tensor, noise: Tensor, row: StepSampling, draw: Draw, count: int
    ) -> Tensor:
        self.asked.append(position + 1)
        return torch.tensor(self.choose(position + 1, count))


@dataclass(frozen=True)
class Frame:
    """The plain loop's frame of row 0 among four, and what it was made from."""

    hidden: Tensor
    first_codes: Tensor
    noise: tuple[Tensor, ...]
    rows: StepSampling
    draw: Draw
    codes: Tensor
    scores: Tensor

    def drafted(self, loaded: Loaded, drafts: Drafts) -> tuple[Tensor, Tensor]:
        alone = DraftedCodes(loaded.config, loaded.predictor, loaded.stage.input_tables, drafts)
        return alone.complete(
            self.hidden[:1], self.first_codes[:1], [one[:1] for one in self.noise], self.rows.first(), self.draw
        )


def plain_frame(loaded: Loaded, seed: int, number: int, sampling: TokenSampling) -> Frame:
    generator = torch.Generator().manual_seed(seed)
    hidden = 3 * torch.randn(ROWS, loaded.config.talker_hidden_size, generator=generator)
    first_codes = torch.randint(loaded.config.codebook_size, (ROWS,), generator=generator)
    noise = loaded.noise.at(torch.arange(ROWS) + seed, torch.full((ROWS,), number))
    rows, draw = step_sampling([sampling] * ROWS, loaded.config.codebook_size)
    codes, scores = loaded.stage.complete(hidden, first_codes, noise, rows, draw)
    return Frame(hidden, first_codes, noise, rows, draw, codes[:1], scores[:1])


GUESSERS = ("all right", "right at random", "all wrong", "one code, thrice", "random")


def guesser(kind: str, frame: Frame, codebook_size: int, random: torch.Generator) -> Guesser:
    true = frame.codes[0].tolist()

    def anything(count: int) -> list[int]:
        return torch.randint(codebook_size, (count,), generator=random).tolist()

    def choose(codebook: int, count: int) -> list[int]:
        match kind:
            case "all right":
                return [*anything(count - 1), true[codebook]]
            case "right at random":
                place = int(torch.randint(2 * count, (1,), generator=random))
                return [true[codebook] if place == index else other for index, other in enumerate(anything(count))]
            case "all wrong":
                return [(true[codebook] + 1 + index) % codebook_size for index in range(count)]
            case "one code, thrice":
                return [true[codebook]] * count
            case _:
                return anything(count)

    return Guesser(choose)


@torch.inference_mode()
@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**31), number=st.integers(0, 500), sampling=SAMPLINGS, kind=st.sampled_from(GUESSERS))
def test_codes_and_scores_are_the_plain_loops(
    loaded: Loaded, seed: int, number: int, sampling: TokenSampling, kind: str
) -> None:
    frame = plain_frame(loaded, seed, number, sampling)
    guesses = guesser(kind, frame, loaded.config.codebook_size, torch.Generator().manual_seed(seed))

    codes, scores = frame.drafted(loaded, guesses)

    assert torch.equal(codes, frame.codes)
    assert torch.equal(scores, frame.scores)


@torch.inference_mode()
@settings(max_examples=examples(20), deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**31), sampling=SAMPLINGS)
def test_heads_of_any_weights_change_no_code(loaded: Loaded, seed: int, sampling: TokenSampling) -> None:
    frame = plain_frame(loaded, seed, 3, sampling)
    random, rank = torch.Generator().manual_seed(seed), 8
    num_heads, num_lanes, width = loaded.predictor.heads.weight.shape
    heads = HeadWeights(
        torch.randn(num_heads, rank, width, generator=random),
        torch.randn(num_heads, num_lanes, rank, generator=random),
        torch.randn(num_heads, num_lanes, rank, generator=random),
    )

    codes, scores = frame.drafted(loaded, DraftHeads(heads))

    assert torch.equal(codes, frame.codes)
    assert torch.equal(scores, frame.scores)


@torch.inference_mode()
@pytest.mark.parametrize(("kind", "passes_saved"), [("all right", True), ("all wrong", False)])
def test_a_right_guess_saves_a_pass(loaded: Loaded, kind: str, passes_saved: bool) -> None:
    frame = plain_frame(loaded, 5, 1, TokenSampling(temperature=0.9, top_k=20))
    guesses = guesser(kind, frame, loaded.config.codebook_size, torch.Generator().manual_seed(5))

    frame.drafted(loaded, guesses)

    last = loaded.config.num_codebooks - 1
    every = list(range(1, last))
    assert guesses.asked == (every[::2] if passes_saved else every)
