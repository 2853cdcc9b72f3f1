"""Norm, SwiGLU product and row gather against plain torch in fp64."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.worker.engine.cuda.products import relative_error
from worker.engine.cuda.float8 import Float8Rows
from worker.engine.cuda.kernels.code_embedding import gather_codes
from worker.engine.cuda.kernels.rms_norm import add_rms_norm, add_rms_norm_float8
from worker.engine.cuda.kernels.swiglu import silu_multiply, silu_multiply_float8
from worker.engine.cuda.talker.decode.triton_operations import TritonOperations

TOLERANCE = {torch.float32: 1e-6, torch.bfloat16: 4e-3}
DTYPES = tuple(TOLERANCE)
# Three bits of fraction: a rounding is up to a sixteenth, and evenly spread ones are a fortieth on average. Triton's
# interpreter has no carry out of the fraction, so that 1.99 becomes 1.0 there instead of 2.0.
ROUNDING_OF_FLOAT8 = 4e-2 if torch.cuda.is_available() else 1.5e-1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [64, 192, 1024, 2048])
def test_norm_adds_the_update_to_the_residual_and_norms_the_sum(
    dtype: torch.dtype, width: int, device: torch.device, random: torch.Generator
) -> None:
    update = torch.randn(5, width, generator=random, device=device).to(dtype)
    residual = torch.randn(5, width, generator=random, device=device).to(dtype)
    weight = torch.randn(width, generator=random, device=device).to(dtype)
    total = update.double() + residual.double()

    normed = add_rms_norm(update, residual, weight, 1e-6)

    assert normed.dtype == dtype
    assert relative_error(residual, total) < TOLERANCE[dtype]
    assert relative_error(normed, F.rms_norm(total, (width,), weight.double(), 1e-6)) < TOLERANCE[dtype]


def test_norm_without_an_update_leaves_the_residual_alone(device: torch.device, random: torch.Generator) -> None:
    residual = torch.randn(3, 128, generator=random, device=device)
    weight = torch.randn(128, generator=random, device=device)
    before = residual.clone()

    normed = add_rms_norm(None, residual, weight, 1e-6)

    assert torch.equal(residual, before)
    assert relative_error(normed, F.rms_norm(before.double(), (128,), weight.double(), 1e-6)) < 1e-6


def test_a_sick_row_stays_the_only_one(device: torch.device, random: torch.Generator) -> None:
    residual = torch.randn(3, 128, generator=random, device=device)
    residual[1, 7] = torch.nan

    normed = add_rms_norm(None, residual, torch.ones(128, device=device), 1e-6)

    assert normed[[0, 2]].isfinite().all()
    assert normed[1].isnan().all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [96, 1024, 3072])
def test_silu_multiply_takes_the_gate_first(
    dtype: torch.dtype, width: int, device: torch.device, random: torch.Generator
) -> None:
    gate_up = (3 * torch.randn(4, 2 * width, generator=random, device=device)).to(dtype)
    gate, up = gate_up.double().chunk(2, dim=1)

    product = silu_multiply(gate_up)

    assert relative_error(product, F.silu(gate) * up) < TOLERANCE[dtype]


def test_gathered_rows_are_those_of_the_column_and_end_of_speech_takes_the_last(
    device: torch.device, random: torch.Generator
) -> None:
    table = torch.randn(10, 96, generator=random, device=device)
    codes = torch.tensor([[3, 9], [0, 4], [9, 10]], dtype=torch.int32, device=device)

    assert torch.equal(gather_codes(codes, 0, table), table[[3, 0, 9]])
    assert torch.equal(gather_codes(codes, 1, table), table[[9, 4, 9]])


@pytest.mark.parametrize("width", [96, 2048])
def test_the_norm_in_eight_bits_is_the_norm_with_a_scale_for_each_row(
    width: int, device: torch.device, random: torch.Generator
) -> None:
    update = torch.randn(5, width, generator=random, device=device)
    residual = torch.randn(5, width, generator=random, device=device)
    residual[3] = update[3] = 0.0
    weight = torch.randn(width, generator=random, device=device)
    total = update.double() + residual.double()
    expected = F.rms_norm(total, (width,), weight.double(), 1e-6)

    rows = add_rms_norm_float8(update, residual, weight, 1e-6)

    assert relative_error(residual, total) < 1e-6
    assert relative_error(rows.exact(), expected) < ROUNDING_OF_FLOAT8
    assert rows.exact()[3].abs().max() == 0
    largest = expected.abs().amax(dim=1, keepdim=True).float()
    torch.testing.assert_close(rows.scales[[0, 1, 2, 4]] * 448, largest[[0, 1, 2, 4]], rtol=1e-5, atol=0)


@pytest.mark.parametrize("width", [96, 3072])
def test_the_swiglu_product_in_eight_bits_keeps_small_rows_beside_large_ones(
    width: int, device: torch.device, random: torch.Generator
) -> None:
    sizes = torch.tensor([1e-3, 0.1, 5.0], device=device)[:, None]
    gate_up = torch.randn(3, 2 * width, generator=random, device=device) * sizes
    gate, up = gate_up.double().chunk(2, dim=1)
    expected = F.silu(gate) * up

    rows = silu_multiply_float8(gate_up)

    for row in range(3):
        assert relative_error(rows.exact()[row], expected[row]) < ROUNDING_OF_FLOAT8


@pytest.mark.parametrize("num_rows", [1, 5, 33])
def test_products_of_eight_bits_have_the_scales_of_both_sides(
    num_rows: int, device: torch.device, random: torch.Generator
) -> None:
    sizes, weight_sizes = torch.logspace(-3, 3, num_rows, device=device), torch.logspace(-2, 2, 48, device=device)
    rows = Float8Rows.of(torch.randn(num_rows, 128, generator=random, device=device) * sizes[:, None])
    scaled = Float8Rows.of(torch.randn(48, 128, generator=random, device=device) * weight_sizes[:, None])
    operations = TritonOperations(1, torch.zeros(1, dtype=torch.int32, device=device))

    made = operations.linear_float8(rows, scaled, torch.bfloat16)

    assert made.dtype is torch.bfloat16
    expected = rows.exact().double() @ scaled.exact().double().t()
    for row in range(num_rows):
        assert relative_error(made[row], expected[row]) < TOLERANCE[torch.bfloat16]
