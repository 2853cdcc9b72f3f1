"""How a matrix product of the codec is cut into programs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tile:
    """rows x columns of the result in one program, which works through the inputs `inputs` at a time."""

    rows: int
    columns: int
    inputs: int
    warps: int
    stages: int


def tile_for(num_rows: int, depth: int, num_inputs: int, num_outputs: int) -> Tile:
    """depth: products summed for one result, num_taps * num_inputs."""
    inputs = _tile_inputs(num_inputs)
    if num_rows <= 16:
        return Tile(16, 32, inputs, warps=4, stages=5)
    if num_rows <= 256:
        return Tile(32, 64, inputs, warps=4, stages=4)
    if num_outputs % 128 == 0:
        return Tile(128, 128, inputs, warps=8, stages=4)
    if num_outputs <= 32:
        return Tile(128, 32, inputs, warps=4, stages=4)
    if num_outputs > 64 and num_outputs <= 128:
        return Tile(128, 128, inputs, warps=8, stages=4)
    return Tile(128, 64, inputs, warps=4, stages=4)


def _tile_inputs(num_inputs: int) -> int:
    """The largest of 64 and 32 that divides the inputs; 32 with a masked rest if neither does."""
    return 64 if num_inputs % 64 == 0 else 32
