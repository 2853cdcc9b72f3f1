"""Drawing, and the two ends of a frame, against the CPU engine's own sampling and plain torch."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from worker.engine.cuda.kernels.code_embedding import begin_rows
from worker.engine.cuda.kernels.frame_end import finish_frame
from worker.engine.cuda.kernels.sampler import draw_first, draw_residual
from worker.engine.cuda.slot_state import FrameTables, SlotSampling, SlotState
from worker.engine.interface import TokenSampling
from worker.engine.requests.request_state import RowEnd
from worker.engine.requests.sampling import NoiseTable, RowSampling, TopP, penalise_repetition, sample

CODEBOOK_SIZE, NUM_CODEBOOKS, HIDDEN, MIN_FRAMES = 300, 4, 96, 2
GREEDY = TokenSampling(temperature=0.0, top_k=0, top_p=1.0)
SAMPLINGS = (
    GREEDY,
    TokenSampling(temperature=1.0, top_k=0, top_p=1.0),
    TokenSampling(temperature=0.9, top_k=50, top_p=1.0),
    TokenSampling(temperature=0.7, top_k=0, top_p=0.8),
    TokenSampling(temperature=1.3, top_k=20, top_p=0.5),
    TokenSampling(temperature=0.9, top_k=1, top_p=1.0),
    TokenSampling(temperature=2.0, top_k=299, top_p=0.01),
)


def state_of(samplings: Sequence[TokenSampling], device: torch.device, random: torch.Generator) -> SlotState:
    """One running slot for each sampling, with seeds of every magnitude."""
    state = SlotState.allocate(len(samplings), 32, CODEBOOK_SIZE, HIDDEN, torch.float32, device)
    rows = len(samplings)
    state.status[:rows] = int(RowEnd.RUNNING)
    state.seed[:rows] = torch.randint(-(2**62), 2**62, (rows,), generator=random, device=device)
    state.frame[:rows] = torch.arange(rows, device=device, dtype=torch.int32) * 7 + MIN_FRAMES
    state.max_frames[:] = 1000
    for slot_sampling, num_lanes in ((state.talker, CODEBOOK_SIZE + 1), (state.predictor, CODEBOOK_SIZE)):
        rows_sampling = RowSampling(rows, num_lanes, device)
        for row, sampling in enumerate(samplings):
            rows_sampling.set(row, sampling)
        for name in SlotSampling.__dataclass_fields__:
            getattr(slot_sampling, name)[:rows] = getattr(rows_sampling, name).to(getattr(slot_sampling, name).dtype)
    return state


def expected_draw(logits: Tensor, codebook: int, slots: Tensor, state: SlotState, rows: SlotSampling) -> Tensor:
    """What the CPU engine draws."""
    chosen = slots.long()
    noise = NoiseTable((CODEBOOK_SIZE + 1, *[CODEBOOK_SIZE] * (NUM_CODEBOOKS - 1)), logits.device)
    step = RowSampling(slots.shape[0], logits.shape[1], logits.device)
    for name in SlotSampling.__dataclass_fields__:
        getattr(step, name)[:] = getattr(rows, name)[chosen]
    values = noise.at(state.seed[chosen], state.frame[chosen].long())[codebook]
    return sample(logits, values, step.at(torch.arange(slots.shape[0], device=logits.device)), TopP())[0].int()


def frame_of(rows: int, device: torch.device) -> tuple[Tensor, Tensor]:
    codes = torch.full((rows, NUM_CODEBOOKS), -1, dtype=torch.int32, device=device)
    return codes, torch.full((rows, NUM_CODEBOOKS), -1, dtype=torch.int8, device=device)


def shuffled_slots(count: int, device: torch.device) -> Tensor:
    return torch.arange(count, device=device, dtype=torch.int32).flip(0)


@pytest.mark.parametrize("scale", [0.1, 3.0, 30.0])
def test_residual_draws_are_those_of_the_cpu_engine(
    scale: float, device: torch.device, random: torch.Generator
) -> None:
    state = state_of(SAMPLINGS, device, random)
    slots = shuffled_slots(len(SAMPLINGS), device)
    codes, finite = frame_of(len(SAMPLINGS), device)
    for codebook in range(1, NUM_CODEBOOKS):
        logits = scale * torch.randn(len(SAMPLINGS), CODEBOOK_SIZE, generator=random, device=device)

        draw_residual(logits, codebook, slots, state, codes, finite)

        expected = expected_draw(logits, codebook, slots, state, state.predictor)
        assert codes[:, codebook].tolist() == expected.tolist()
    assert (finite[:, 1:] == 1).all()
    assert (codes[:, 0] == -1).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_first_draws_are_penalised_masked_and_remembered(
    dtype: torch.dtype, device: torch.device, random: torch.Generator
) -> None:
    state = state_of(SAMPLINGS, device, random)
    state.penalty[:] = torch.linspace(1.0, 2.0, state.penalty.shape[0], device=device)
    state.present[:] = torch.rand(state.present.shape, generator=random, device=device) < 0.5
    state.frame[2] = 1
    slots = shuffled_slots(len(SAMPLINGS), device)
    codes, finite = frame_of(len(SAMPLINGS), device)
    padded = 3 * torch.randn(len(SAMPLINGS), CODEBOOK_SIZE + 20, generator=random, device=device)
    logits = padded.to(dtype)[:, : CODEBOOK_SIZE + 1]
    logits[:, -1] = 9.0
    before = state.present.clone()
    chosen = slots.long()
    penalised = penalise_repetition(logits.float(), before[chosen] != 0, state.penalty[chosen].unsqueeze(1))
    penalised[:, -1].masked_fill_(state.frame[chosen] < MIN_FRAMES, -torch.inf)

    draw_first(logits, slots, state, MIN_FRAMES, codes, finite)

    assert codes[:, 0].tolist() == expected_draw(penalised, 0, slots, state, state.talker).tolist()
    assert CODEBOOK_SIZE in codes[:, 0].tolist()
    assert int(codes[slots.tolist().index(2), 0]) < CODEBOOK_SIZE
    before[chosen, codes[:, 0].clamp_max(CODEBOOK_SIZE - 1).long()] = 1
    assert torch.equal(state.present, before)
    assert (finite[:, 0] == 1).all()


def test_entries_equal_to_the_kth_largest_all_stay(device: torch.device, random: torch.Generator) -> None:
    state = state_of([TokenSampling(temperature=1.0, top_k=2, top_p=1.0)] * 32, device, random)
    slots = shuffled_slots(32, device)
    codes, finite = frame_of(32, device)
    logits = torch.full((32, CODEBOOK_SIZE), -1.0, device=device)
    logits[:, [3, 50, 299]] = torch.tensor([-0.0, 0.0, -0.0], device=device)

    draw_residual(logits, 1, slots, state, codes, finite)

    assert set(codes[:, 1].tolist()) == {3, 50, 299}


def test_of_equal_scores_the_first_entry_wins(device: torch.device, random: torch.Generator) -> None:
    state = state_of([GREEDY], device, random)
    codes, finite = frame_of(1, device)
    logits = torch.zeros(1, CODEBOOK_SIZE, device=device)
    logits[0, [7, 9]] = 1.0

    draw_residual(logits, 2, shuffled_slots(1, device), state, codes, finite)

    assert int(codes[0, 2]) == 7


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what NumPy says of NaN in the interpreter
@pytest.mark.parametrize("sick", [torch.nan, torch.inf])
def test_a_sick_row_is_told_and_no_other(sick: float, device: torch.device, random: torch.Generator) -> None:
    state = state_of(SAMPLINGS, device, random)
    slots = shuffled_slots(len(SAMPLINGS), device)
    codes, finite = frame_of(len(SAMPLINGS), device)
    logits = torch.randn(len(SAMPLINGS), CODEBOOK_SIZE, generator=random, device=device)
    logits[3, 17] = sick
    healthy = [row for row in range(len(SAMPLINGS)) if row != 3]

    draw_residual(logits, 1, slots, state, codes, finite)

    assert finite[:, 1].tolist() == [0 if row == 3 else 1 for row in range(len(SAMPLINGS))]
    assert (codes[:, 1] < CODEBOOK_SIZE).all()
    expected = expected_draw(logits, 1, slots, state, state.predictor)
    assert codes[healthy, 1].tolist() == expected[healthy].tolist()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_row_without_a_possible_entry_is_sick(device: torch.device, random: torch.Generator) -> None:
    state = state_of([GREEDY], device, random)
    codes, finite = frame_of(1, device)

    draw_residual(
        torch.full((1, CODEBOOK_SIZE), -torch.inf, device=device), 1, shuffled_slots(1, device), state, codes, finite
    )

    assert int(finite[0, 1]) == 0


@pytest.fixture
def tables(device: torch.device, random: torch.Generator) -> FrameTables:
    return FrameTables(
        first=torch.randn(CODEBOOK_SIZE, HIDDEN, generator=random, device=device),
        residual=torch.randn(NUM_CODEBOOKS - 1, CODEBOOK_SIZE, HIDDEN, generator=random, device=device),
        text=torch.randn(50, HIDDEN, generator=random, device=device),
    )


def drawn(rows: int, device: torch.device, random: torch.Generator) -> tuple[Tensor, Tensor]:
    codes = torch.randint(0, CODEBOOK_SIZE, (rows, NUM_CODEBOOKS), generator=random, device=device, dtype=torch.int32)
    return codes, torch.ones(rows, NUM_CODEBOOKS, dtype=torch.int8, device=device)


def test_rows_are_gathered_from_their_slots(device: torch.device, random: torch.Generator) -> None:
    state = state_of([GREEDY] * 5, device, random)
    state.next_input[:] = torch.randn(state.next_input.shape, generator=random, device=device)
    state.position[:] = torch.arange(6, device=device) * 3
    slots = torch.tensor([4, 0, 5, 2], dtype=torch.int32, device=device)

    inputs, positions = begin_rows(slots, state)

    assert torch.equal(inputs, state.next_input[slots.long()])
    assert positions.tolist() == [12, 0, 15, 6]


def test_a_frame_that_counts_moves_its_slot_on(
    tables: FrameTables, device: torch.device, random: torch.Generator
) -> None:
    state = state_of([GREEDY] * 3, device, random)
    state.frame[:3] = torch.tensor([0, 5, 9], device=device)
    state.position[:3] = torch.tensor([20, 30, 40], device=device)
    state.trailing_length[:3] = torch.tensor([3, 5, 2], device=device)
    state.trailing_ids[:] = torch.randint(0, 50, state.trailing_ids.shape, generator=random, device=device)
    slots = torch.tensor([2, 0, 1], dtype=torch.int32, device=device)
    codes, finite = drawn(3, device, random)

    packet = finish_frame(codes, finite, slots, state, tables)

    assert packet.tolist() == [[*row, int(RowEnd.RUNNING)] for row in codes.tolist()]
    assert state.frame[:3].tolist() == [1, 6, 10]
    assert state.position[:3].tolist() == [21, 31, 41]
    for row, (slot, text_row) in enumerate(((2, 2), (0, 0), (1, 5))):
        parts = [tables.first[codes[row, 0]]]
        parts += [tables.residual[g, codes[row, g + 1]] for g in range(NUM_CODEBOOKS - 1)]
        parts.append(tables.text[state.trailing_ids[slot, text_row]])
        torch.testing.assert_close(state.next_input[slot], torch.stack(parts).sum(0), rtol=1e-5, atol=1e-5)


def test_rows_end_for_their_own_reason_and_then_stand_still(
    tables: FrameTables, device: torch.device, random: torch.Generator
) -> None:
    state = state_of([GREEDY] * 4, device, random)
    state.frame[:4] = torch.tensor([4, 8, 8, 8], device=device)
    state.max_frames[:4] = torch.tensor([100, 8, 8, 9], device=device)
    slots = torch.arange(5, dtype=torch.int32, device=device)
    codes, finite = drawn(5, device, random)
    codes[0, 0] = CODEBOOK_SIZE
    finite[2, 3] = 0
    before = state.next_input.clone()

    first = finish_frame(codes, finite, slots, state, tables)
    second = finish_frame(codes.clamp_max(CODEBOOK_SIZE - 1), torch.ones_like(finite), slots, state, tables)

    ended = [int(end) for end in (RowEnd.EOS, RowEnd.LENGTH, RowEnd.NON_FINITE)]
    scratch = int(RowEnd.EOS)
    assert first[:, -1].tolist() == [*ended, int(RowEnd.RUNNING), scratch]
    assert second[:, -1].tolist() == [*ended, int(RowEnd.LENGTH), scratch]
    assert state.frame.tolist() == [4, 8, 8, 9, 0]
    assert int(first[0, 0]) == CODEBOOK_SIZE - 1
    unmoved = [0, 1, 2, 4]
    assert torch.equal(state.next_input[unmoved], before[unmoved])
