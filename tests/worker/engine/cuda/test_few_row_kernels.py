"""Products of a few rows with their norm, gate or residual, against plain torch in fp64."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.worker.engine.cuda.products import noise, relative_error
from worker.engine.cuda.kernels.few_row_products import linear, linear_add, norm_gate_up, norm_linear

EPS = 1e-6
TOLERANCE = {torch.float32: 1e-6, torch.bfloat16: 4e-3}
DTYPES = tuple(TOLERANCE)
# Widths below, at and above a chunk, and such that no power of two fits.
WIDTHS = ((96, 40), (256, 16), (768, 100), (2048, 24))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("width", "outputs"), WIDTHS)
@pytest.mark.parametrize("rows", [1, 3])
def test_norm_linear_multiplies_the_normed_rows(
    rows: int, width: int, outputs: int, dtype: torch.dtype, random: torch.Generator
) -> None:
    residual, norm = 5 * noise(random, dtype, rows, width), noise(random, dtype, width)
    weight = noise(random, dtype, outputs, width)
    normed = F.rms_norm(residual.double(), (width,), norm.double(), EPS)

    product = norm_linear(residual, norm, EPS, weight, torch.float32)

    assert product.dtype == torch.float32
    assert relative_error(product, normed @ weight.double().T) < 1e-5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("width", "outputs"), WIDTHS)
def test_linear_multiplies_the_rows_as_they_are(
    width: int, outputs: int, dtype: torch.dtype, random: torch.Generator
) -> None:
    x, weight = noise(random, dtype, 2, width), noise(random, dtype, outputs, width)

    product = linear(x, weight, torch.float32)

    assert product.dtype == torch.float32
    assert relative_error(product, x.double() @ weight.double().T) < 1e-5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("width", "outputs"), WIDTHS)
@pytest.mark.parametrize("rows", [1, 3])
def test_norm_gate_up_gates_the_products(
    rows: int, width: int, outputs: int, dtype: torch.dtype, random: torch.Generator
) -> None:
    residual, norm = 5 * noise(random, dtype, rows, width), noise(random, dtype, width)
    weight = noise(random, dtype, 2 * outputs, width) * width**-0.5
    normed = F.rms_norm(residual.double(), (width,), norm.double(), EPS)
    gate, up = (normed @ weight.double().T).chunk(2, dim=1)

    product = norm_gate_up(residual, norm, EPS, weight)

    assert relative_error(product, F.silu(gate) * up) < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("width", "outputs"), WIDTHS)
@pytest.mark.parametrize("rows", [1, 3])
def test_linear_add_adds_the_product_to_the_residual(
    rows: int, width: int, outputs: int, dtype: torch.dtype, random: torch.Generator
) -> None:
    x, weight = noise(random, dtype, rows, width), noise(random, dtype, outputs, width)
    residual = noise(random, dtype, rows, outputs)
    expected = residual.double() + x.double() @ weight.double().T

    linear_add(x, weight, residual)

    assert relative_error(residual, expected) < TOLERANCE[dtype]


def test_a_row_is_multiplied_alike_alone_and_among_others(random: torch.Generator) -> None:
    residual, norm = noise(random, torch.bfloat16, 3, 512), noise(random, torch.bfloat16, 512)
    weight = noise(random, torch.bfloat16, 32, 512)

    together = norm_linear(residual, norm, EPS, weight, torch.float32)
    alone = norm_linear(residual[1:2], norm, EPS, weight, torch.float32)

    assert torch.equal(together[1:2], alone)


def test_a_sick_row_stays_the_only_one(random: torch.Generator) -> None:
    residual = noise(random, torch.bfloat16, 3, 256)
    residual[1] = torch.nan

    weight = noise(random, torch.bfloat16, 16, 256)

    product = norm_gate_up(residual, torch.ones(256).to(residual), EPS, weight)

    assert product[[0, 2]].isfinite().all()
    assert product[1].isnan().all()
