"""Which graphs there are; that they draw what the step draws is a matter for a GPU."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from worker.engine.requests.sampling import Argmax, Draw, StepSampling, TopK, TopP, sample
from worker.engine.stages.frame import FrameDraws
from worker.engine.vllm.captured_steps import classed, row_ladder

VOCABULARY = 2049
DRAWS: st.SearchStrategy[Draw] = st.one_of(
    st.builds(TopK, st.integers(1, VOCABULARY)), st.just(Argmax()), st.just(TopP())
)


@given(st.integers(1, 300).map(lambda quarter: 4 * quarter))
def test_every_number_of_rows_has_a_rung_that_is_not_twice_too_wide(max_rows: int) -> None:
    ladder = row_ladder(max_rows)

    assert ladder[-1] == max_rows
    assert list(ladder) == sorted(set(ladder))
    for num_rows in range(4, max_rows + 1):
        assert next(rung for rung in ladder if rung >= num_rows) < 2 * num_rows


@given(DRAWS, DRAWS)
def test_there_are_few_graphs_for_all_that_requests_may_ask(talker: Draw, predictor: Draw) -> None:
    graphs = classed(FrameDraws(talker, predictor))

    assert {graphs.talker, graphs.predictor} <= {Argmax(), TopP(), TopK(64), TopK(4096)}
    assert classed(graphs) == graphs


@given(st.integers(0, 2**32), st.lists(st.integers(1, VOCABULARY), min_size=1, max_size=4))
def test_a_graph_of_a_wider_class_draws_the_same(seed: int, ks: list[int]) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits, noise = (torch.randn(len(ks), VOCABULARY, generator=generator) for _ in range(2))
    ones = torch.ones(len(ks), 1)
    rows = StepSampling(ones, ones, torch.tensor(ks).unsqueeze(1), ones)
    draw = TopK(max(ks))

    expected = sample(logits, noise, rows, draw)
    drawn = sample(logits, noise, rows, classed(FrameDraws(draw, draw)).talker)

    assert torch.equal(drawn[0], expected[0])
    assert torch.equal(drawn[1], expected[1])
