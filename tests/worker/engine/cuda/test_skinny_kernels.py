"""Products of some rows on the matrix units, against plain torch in fp64."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.worker.engine.cuda.products import noise, relative_error
from worker.engine.cuda.kernels.rms_norm import add_rms_norm
from worker.engine.cuda.kernels.skinny_products import skinny_gate_up, skinny_linear, skinny_parts

# The interpreter multiplies matrices of bf16 numbers as if they were integers; fp16 stands in for them there.
HALF = torch.bfloat16 if torch.cuda.is_available() else torch.float16
TOLERANCE = {torch.float32: 2e-6, HALF: 4e-3}
DTYPES = tuple(TOLERANCE)
# (width, outputs): whole blocks and strips, and neither.
WIDTHS = ((256, 64), (96, 40), (1024, 32))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("width", "outputs"), WIDTHS)
@pytest.mark.parametrize("rows", [3, 40])
def test_skinny_linear_is_the_product(
    rows: int, width: int, outputs: int, dtype: torch.dtype, random: torch.Generator
) -> None:
    x, weight = noise(random, dtype, rows, width), noise(random, dtype, outputs, width)
    expected = x.double() @ weight.double().T

    assert relative_error(skinny_linear(x, weight, dtype), expected) < TOLERANCE[dtype]
    assert relative_error(skinny_linear(x, weight, torch.float32), expected) < 2e-6


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("width", "outputs"), WIDTHS)
def test_the_parts_of_a_product_add_up_in_the_norm(
    width: int, outputs: int, dtype: torch.dtype, random: torch.Generator
) -> None:
    x, weight = noise(random, dtype, 5, width), noise(random, dtype, outputs, width)
    residual, norm = noise(random, dtype, 5, outputs), noise(random, dtype, outputs)
    expected = residual.double() + x.double() @ weight.double().T

    parts = skinny_parts(x, weight)
    # Not the first rows of each part, as a pass over two positions takes them.
    normed = add_rms_norm(parts[:, 2:], residual[2:], norm, 1e-6)

    assert parts.shape[0] == max(1, width // 128 if width >= 256 else 1)
    assert relative_error(residual[2:], expected[2:]) < TOLERANCE[dtype]
    assert relative_error(normed, F.rms_norm(expected[2:], (outputs,), norm.double(), 1e-6)) < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("width", "outputs"), WIDTHS)
def test_skinny_gate_up_gates_the_product(
    width: int, outputs: int, dtype: torch.dtype, random: torch.Generator
) -> None:
    x = noise(random, dtype, 20, width)
    weight = noise(random, dtype, 2 * outputs, width) * width**-0.5
    gate, up = (x.double() @ weight.double().T).chunk(2, dim=1)

    assert relative_error(skinny_gate_up(x, weight), F.silu(gate) * up) < TOLERANCE[dtype]


def test_a_row_is_multiplied_alike_alone_and_among_others_of_its_tile(random: torch.Generator) -> None:
    x, weight = noise(random, HALF, 12, 256), noise(random, HALF, 64, 256)

    assert torch.equal(skinny_linear(x, weight, HALF)[3:5], skinny_linear(x[3:5].contiguous(), weight, HALF))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what NumPy says of NaN in the interpreter
def test_a_sick_row_stays_the_only_one(random: torch.Generator) -> None:
    x, weight = noise(random, HALF, 3, 256), noise(random, HALF, 64, 256)
    x[1] = torch.nan

    product = skinny_gate_up(x, weight)

    assert product[[0, 2]].isfinite().all()
    assert product[1].isnan().all()
